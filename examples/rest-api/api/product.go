package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// product is what the collection holds, and what clients see of it.
type product struct {
	ID          string    `bson:"_id" json:"id"`
	Name        string    `bson:"name" json:"name"`
	Cents       int64     `bson:"cents" json:"cents"`
	Stock       int64     `bson:"stock" json:"stock"`
	Tags        []string  `bson:"tags" json:"tags"`
	Description string    `bson:"description" json:"description"`
	Changed     time.Time `bson:"changed" json:"changed"`
	// Revision is another one after each change. The entity tag is made of it, so it is not repeated in the content.
	Revision string `bson:"revision" json:"-"`
}

// etag is a strong entity tag (RFC 9110, section 8.8.3).
func (p *product) etag() string {
	return `"` + p.Revision + `"`
}

var (
	ids  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	tags = regexp.MustCompile(`^[a-z]{1,20}$`)
)

// faults says for each wrong member what is wrong with it; nothing if all is right.
func (p *product) faults() map[string]string {
	faults := map[string]string{}
	fault := func(wrong bool, member, format string, values ...any) {
		if wrong {
			faults[member] = fmt.Sprintf(format, values...)
		}
	}
	fault(!ids.MatchString(p.ID), "id", "1 to 40 of a-z, 0-9 and -, not beginning with -")
	fault(!length(p.Name, 1, 80), "name", "1 to 80 characters")
	fault(p.Cents < 0 || p.Cents > 100_000_000, "cents", "0 to 100000000")
	fault(p.Stock < 0 || p.Stock > 1_000_000, "stock", "0 to 1000000")
	fault(len(p.Tags) > 8, "tags", "8 at most")
	for _, tag := range p.Tags {
		fault(!tags.MatchString(tag), "tags", "1 to 20 of a-z each")
	}
	fault(!length(p.Description, 0, 3000), "description", "3000 characters at most")
	return faults
}

func length(text string, low, high int) bool {
	count := utf8.RuneCountInString(strings.TrimSpace(text))
	return low <= count && count <= high
}
