package wire

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNameOf(t *testing.T) {
	for sql, want := range map[string]string{
		"-- name: TakeSteps\nselect 1":      "TakeSteps",
		"\n-- name: RecordResults \nwith x": "RecordResults",
		"-- name: Alone":                    "Alone",
		"select 1 -- name: Late":            "",
		"-- names: Other\nselect 1":         "",
		"":                                  "",
	} {
		if got := nameOf(sql); got != want {
			t.Errorf("%q: got %q, want %q", sql, got, want)
		}
	}
}

func TestParameterScan(t *testing.T) {
	for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
		value, err := pgtype.NewMap().Encode(pgtype.Int2ArrayOID, format, []int16{3, 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []int16
		err = Parameter{format, value}.Scan(pgtype.Int2ArrayOID, &got)
		if err != nil || len(got) != 2 || got[0] != 3 || got[1] != 1 {
			t.Errorf("format %d: got %v, %v", format, got, err)
		}
	}
}
