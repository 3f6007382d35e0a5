package pgserver

import (
	"net/url"
	"strconv"
	"strings"
)

// dsn is a connection string, in the URL or in the keyword form.
type dsn string

// socketDSN leads to the private server whose socket for the port is in dir. Readers of
// connection strings take a plus sign as it is, so a blank may not become one.
func socketDSN(dir string, port int) dsn {
	host := strings.ReplaceAll(url.QueryEscape(dir), "+", "%20")
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Path:     "/" + maintenance,
		RawQuery: "host=" + host + "&port=" + strconv.Itoa(port),
	}
	return dsn(u.String())
}

// hostDSN leads to the server at a TCP address.
func hostDSN(address, user, password string) dsn {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     address,
		Path:     "/" + maintenance,
		RawQuery: "sslmode=disable",
	}
	return dsn(u.String())
}

// withDatabase is the same connection string but for the name of the database.
func (d dsn) withDatabase(name string) string {
	u, err := url.Parse(string(d))
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return string(d) + " dbname=" + quoteKeyword(name)
	}
	var query []string
	for _, pair := range strings.Split(u.RawQuery, "&") {
		if key, _, _ := strings.Cut(pair, "="); key != "dbname" && key != "database" {
			query = append(query, pair)
		}
	}
	u.RawQuery = strings.Join(query, "&")
	u.Path, u.RawPath = "/"+name, ""
	return u.String()
}

// quoteKeyword writes a value of the keyword form, where the last of two values counts.
func quoteKeyword(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}
