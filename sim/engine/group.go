package engine

import (
	"bytes"
	"slices"
	"strings"
)

// named is a statement under the name that a connection gave it.
type named struct {
	name string
	st   *statement
}

// group is the messages of one connection up to a Sync, or one simple query: the unit that the
// server answers with one ReadyForQuery.
type group struct {
	raw      []byte
	canon    []byte
	names    []string
	sql      []string
	executes bool    // else it only prepares
	session  bool    // some statement changes the session
	binds    []named // statements that must be prepared on the server before
	parses   []named // named statements that the group itself prepares
	steps    []byte  // of a preparing group: P, D or C for each message that has an answer
	targets  []named // the statements of steps
	ends     string  // the first word of the last statement, lower case
	refused  []byte  // an error found without asking anyone
}

// add takes one message; stmts are the statements of the connection by name.
func (g *group) add(msg []byte, stmts map[string]*statement, known *statements) error {
	g.raw = append(g.raw, msg...)
	body := msg[headerSize:]
	switch msg[0] {
	case 'P':
		return g.addParse(body, stmts, known)
	case 'B':
		return g.addBind(body, stmts)
	case 'E':
		g.executes = true
		g.content(msg)
	case 'Q':
		sql, _, _ := cString(body)
		g.executes = true
		g.note(known.get(append([]byte(sql), 0)))
		g.content(msg)
	case 'D', 'C':
		if len(body) > 0 && body[0] == 'S' {
			return g.addTarget(msg[0], body[1:], stmts)
		}
		g.content(msg)
	case 'S':
	default:
		g.refuse("message type " + string(rune(msg[0])))
	}
	return nil
}

func (g *group) addParse(body []byte, stmts map[string]*statement, known *statements) error {
	name, key, ok := cString(body)
	if !ok {
		return errProtocol
	}
	st := known.get(key)
	stmts[name] = st
	if name != "" {
		g.parses = append(g.parses, named{name, st})
	}
	g.steps = append(g.steps, 'P')
	g.targets = append(g.targets, named{name, st})
	return nil
}

func (g *group) addBind(body []byte, stmts map[string]*statement) error {
	portal, rest, ok := cString(body)
	if !ok {
		return errProtocol
	}
	name, rest, ok := cString(rest)
	if !ok {
		return errProtocol
	}
	st := stmts[name]
	if st == nil {
		g.content(body)
		return nil
	}
	g.note(st)
	if name != "" && !slices.Contains(g.parses, named{name, st}) {
		g.binds = append(g.binds, named{name, st})
	}
	g.content([]byte(portal))
	g.content(rest)
	return nil
}

func (g *group) addTarget(typ byte, body []byte, stmts map[string]*statement) error {
	name, _, ok := cString(body)
	if !ok {
		return errProtocol
	}
	g.steps = append(g.steps, typ)
	g.targets = append(g.targets, named{name, stmts[name]})
	if typ == 'C' {
		delete(stmts, name)
	}
	return nil
}

// note takes a statement into the group's name and content.
func (g *group) note(st *statement) {
	g.names = append(g.names, st.name)
	g.sql = append(g.sql, st.sql)
	g.session = g.session || st.session
	g.content(st.sum[:])
	g.ends = st.verb
	if g.ends == "copy" {
		g.refuse("COPY")
	}
}

// refuse makes the group fail at once for something that the engine cannot play.
func (g *group) refuse(what string) {
	g.executes = true
	g.refused = appendError(nil, "ERROR", "0A000", "the simulation does not support "+what)
}

// content appends a part of the group's content, marked off from the next.
func (g *group) content(part []byte) {
	g.canon = append(g.canon, part...)
	g.canon = append(g.canon, 0xff)
}

// namesJoined is how many statements of a batch its name tells.
const namesJoined = 4

func (g *group) name() string {
	if len(g.names) > namesJoined {
		return strings.Join(g.names[:namesJoined], "+") + "+…"
	}
	return strings.Join(g.names, "+")
}

// single reports whether the group is one plain statement, for which it makes no difference
// whether another one ran in its transaction before.
func (g *group) single() bool {
	if len(g.names) != 1 || g.raw[0] == 'Q' || g.session {
		return false
	}
	switch g.ends {
	case "select", "with", "insert", "update", "delete":
		return true
	}
	return false
}

// isPing reports whether the group is a simple query without a statement.
func (g *group) isPing() bool {
	return len(g.sql) == 1 && g.raw[0] == 'Q' && isEmptyQuery(g.sql[0])
}

// recorded returns the answer to a preparing group from what is known, or nil.
func (g *group) recorded(known *statements, status byte) []byte {
	var b bytes.Buffer
	for i, step := range g.steps {
		t := g.targets[i]
		switch {
		case step == 'C':
			b.Write([]byte{'3', 0, 0, 0, 4})
		case t.st == nil:
			return appendReady(appendError(nil, "ERROR", "26000",
				"prepared statement \""+t.name+"\" does not exist"), status)
		case known.description(t.st) == nil:
			return nil
		case step == 'P':
			b.Write([]byte{'1', 0, 0, 0, 4})
		default:
			b.Write(known.description(t.st))
		}
	}
	return appendReady(b.Bytes(), status)
}
