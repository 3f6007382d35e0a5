package engine

// Bytes returns the source that reads one choice from each byte, spread over its values, and
// zeroes once they are used up: what a fuzzer varies. Zero bytes are the plainest values.
func Bytes(data []byte) Source { return &bytesSource{data: data} }

type bytesSource struct{ data []byte }

// Choose implements Source.
func (s *bytesSource) Choose(_, _ string, n int) (int, error) {
	if len(s.data) == 0 {
		return 0, nil
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) * (n - 1) / 255, nil
}
