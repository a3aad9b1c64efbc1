package bridge

import (
	"strings"
	"sync/atomic"
	"testing"

	"fleet/api"
)

// strict refuses all that can be refused.
var strict = Policy{RefuseClosingKeywords: true}

func TestAMentionOfManyIsFoundWhereverAForgeReadsOne(t *testing.T) {
	fence := "```\n"
	for name, body := range map[string]string{
		"alone": "@all", "everyone": "hey @everyone, look", "a team": "cc @acme/core-team", "in capitals": "@ALL", "after a word": "a,@all",
		"in brackets": "(@all)", "with a dot": "@everyone.", "in bold": "**@acme/team**", "in italics": "_@all_", "a possessive": "@everyone's",
		"in a list": "- @acme/team", "in a quotation": "> @all", "in a heading": "# @all", "in a table": "| a | @acme/x |\n|-|-|",
		"as an entity": "&#64;all", "as a named entity": "&commat;acme/team", "with a slash as one": "@acme&sol;team", "with a backslash": `\@all`,
		"with a backslash inside": `@acme\/team`, "with what nobody sees": "@a\u200bll", "in a link's words": "[@acme/team](https://x.example)",
		"after an address": "https://x.example @all", "an address that ends before it": "https://x.example/*@acme/team*",
		"a package": "@types/node", "on the second line": "a\n@all\nb", "after CR": "a\r@all",
		"after code": "`x` @all", "after a fence": fence + "x\n" + fence + "@all", "after a fence of tildes": "~~~\n```\n~~~\n@all",
		"in a span that never ends": "`@all", "after an escaped backtick": "\\` @all `", "between backticks of other lengths": "`` @all ` ```",
		"in a span across lines, as it seems": "# a ` b\n@all ` c", "where a heading's backtick shifts the rest": "# x ` y\nz ` w ` @acme/team ` v",
		"between spans of which one is across lines": "x ` y\nz `@all` w",
		"after a fence that ends in a list alone":    "- a\n\n  ```\n    ```\n  @all\n  ```",
		"where a list's backtick shifts the rest":    "a`\n-  `- \\\n`@all`| c",
		"where a heading ends a paragraph":           "# ` ```\nb`\n`@all`\n- ",
		"on a fence's line in HTML":                  "</div>\n~~~ @all",
		"on a fence's line after HTML that goes on":  "<pre>\n\n~~~ @all",
		"behind an address of mail with a backtick":  "<`x@x>``) @all ``",
		"between the cells of a table":               "| a | b |\n|-|-|\n| ` | @all ` |",
		"after a fence that a list ends":             "- a\n\n  ```\n  x\n@all\n  ```", "after a fence on a list's own line": "- ```\n  x\n  ```\n  @all\n",
		"after a fence that a quotation ends": "> ```\n@all", "after a fence in a list in a list": "- a\n  - b\n\n    ```\n    x\n    ```\n    @all",
		"after a fence with a longer one in it": "````\n```\n````\n@all", "after one closed with blanks": "```\nx\n```  \n@all",
		"after one closed with up to three blanks": "```\nx\n   ```\n@all", "a fence's line that is a span": "```x``` @all",
		"after a fence in HTML": "<div>\n```\n@all\n```\n</div>", "after a fence in a comment": "<!--\n```\n-->\n@all", "in HTML": "<div>\n`@all`\n</div>",
		"behind a tag that holds a backtick": "<a title=\"`\"> @all `", "behind a link that holds one": "[a](<`>) @all `",
		"behind a link's title that holds one": "[a](/u \"`\") @all `", "behind an address that holds one": "https://x.example/`a @all `",
		"behind a definition": "[x]: /u '`'\n@all `", "behind a formula": "$`a` @all `$",
		"an address whose host nobody can have": "https://-a.example/@all", "an address behind an open bracket": "[see https://x.example/@all",
		"an address between brackets": "see [x [y](/u \"]\") https://x.example/@acme/team]", "an address in HTML": "<div>\nhttps://x.example/@all\n</div>",
		"behind an address of mail": "me@x.example@all", "behind an address without a scheme": "www.x.example@acme/team", "behind one with an underscore": "http://a_b.x.example@all",
		"an address in HTML over blank lines":      "<textarea>\n\nhttps://x.example/@all",
		"a fence that HTML over blank lines hides": "<pre>\n\n```\n</pre>\n@all\n",
	} {
		err := strict.checkBody(body)
		if err == nil {
			t.Errorf("%s: %q may be posted; its prose is %q", name, body, prose(body))
			continue
		}
		if e := expectError(t, err, "forbidden/mass_mention"); !strings.Contains(e.Message, "@") || !strings.Contains(e.Message, "nothing was posted") || !strings.Contains(e.Hint, "backticks") {
			t.Errorf("%s: %s; %s", name, e.Message, e.Hint)
		}
		if err := (Policy{AllowMassMentions: true}).checkBody(body); err != nil {
			t.Errorf("%s: %v though it is allowed", name, err)
		}
	}
}

func TestCodeAndSinglePeopleMayBeMentioned(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "people": "@mia and @all-hands and @everyone2, thanks", "an address of mail": "me@all.example or x@acme/team",
		"a span": "use `@types/node`", "two spans": "`@all` and ``@acme/`x` ``", "a span in a list": "- `@all`\n- `@acme/team`", "beside generics": "`Map<String>` of `@types/node`",
		"beside a tag in code": "`<div>` and `@all`", "beside a comment in code": "use `<!-- x -->`\n\n`@all`", "beside an address in code": "`https://x.example` and `@all`",
		"beside a link": "[docs](https://x.example/a) of `@types/node`", "beside an autolink": "<https://x.example> of `@all`",
		"a fence": "```js\nimport x from '@babel/core'\n```\n", "tildes": "~~~\n@all\n~~~", "a fence that never ends": "```\n@all\n", "a fence after words": "look:\n```\n@all\n```",
		"a fence in a list": "1. do\n   ```\n   npm i @types/node\n\n   ```\n", "two fences": "```\n@all\n```\nand\n```\n@all\n```",
		"a path in an address": "see https://www.npmjs.com/package/@types/node and (https://unpkg.com/@babel/core)", "an address below a link": "[a](/u)\n\nhttps://unpkg.com/@babel/core", "an at alone": "@ all", "a version": "x@1.2/y", "split by tags": "@<b>all</b>",
	} {
		if err := strict.checkBody(body); err != nil {
			t.Errorf("%s: %q is refused: %v; its prose is %q", name, body, err, prose(body))
		}
	}
}

func TestKeywordsThatCloseAreRefusedWhereTheyAreToBe(t *testing.T) {
	for _, body := range []string{
		"Fixes #1", "this closes #2.", "CLOSED: #3", "resolve acme/widgets#4", "fixed\n#5", "Fix https://github.com/acme/widgets/issues/6", "resolves https://ghe.example/a/b/pull/7",
		"close GH-8", "**Fixes** #9", "Closes [#10](https://x.example)", "resolved:#11", "fixes &#35;12", `fixes \#13`, "> closes #14", "(fixes #15)", "Duplicate of #16",
		"**duplicate of** https://github.com/acme/widgets/issues/17", "x\n\n- Duplicate of acme/x#18", "fi\u200bxes #19", "`x`\nfixes #20",
	} {
		e := expectError(t, strict.checkBody(body), "forbidden/closing_keyword")
		if !strings.Contains(e.Message, "nothing was posted") || !strings.Contains(e.Hint, "see #1") {
			t.Errorf("%q: %s; %s", body, e.Message, e.Hint)
		}
		if err := (Policy{}).checkBody(body); err != nil {
			t.Errorf("%q is refused though nobody asked for it: %v", body, err)
		}
	}
	for _, body := range []string{
		"see #1", "`Fixes #1`", "```\nfixes #1\n```", "the prefix #1", "fixes the bug of #1", "fixing #1", "unfix1es #1", "closes it. #1", "it may be a duplicate of #1", "fixes #x", "fix es #1",
	} {
		if err := strict.checkBody(body); err != nil {
			t.Errorf("%q is refused: %v", body, err)
		}
	}
}

func TestARefusalSaysWhichWordsBrieflyAndPlainly(t *testing.T) {
	e := expectError(t, strict.checkBody("@all @everyone @all, @acme/a @acme/b @acme/c"), "forbidden/mass_mention")
	if !strings.Contains(e.Message, "(@all, @everyone, @acme/a)") {
		t.Error(e.Message)
	}
	e = expectError(t, strict.checkBody("fixes   https://x.example/"+strings.Repeat("é", 5000)+"/issues/1"), "forbidden/closing_keyword")
	if len(e.Message) > 250 || !strings.Contains(e.Message, "(fixes https://x.example/") {
		t.Error(e.Message)
	}
}

func TestAMassMentionIsNotPostedAndItsKeyStaysFree(t *testing.T) {
	var policy atomic.Pointer[Policy]
	policy.Store(&Policy{})
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Registry = registryWith(&policy) })
	for _, r := range []Request{comment("@all done"), review("COMMENT", "@acme/team look")} {
		_, err := b.do(r)
		expectError(t, err, "forbidden/mass_mention")
		if len(b.forge.posted()) != 0 || b.forge.called("Head") != 0 {
			t.Fatalf("the forge was asked: %+v", b.forge.posted())
		}
	}
	r := comment("@all done")
	_, err := b.do(r)
	expectError(t, err, "forbidden/mass_mention")
	policy.Store(&Policy{AllowMassMentions: true})
	raw, err := b.do(r)
	first := decode[api.Written](t, raw, err)
	if posted := b.forge.posted(); len(posted) != 1 || posted[0].Body != "@all done" {
		t.Errorf("posted %+v, want the agent's own words, once", posted)
	}
	// What was posted stays so, whatever is allowed by now.
	policy.Store(&Policy{})
	raw, err = b.do(r)
	if again := decode[api.Written](t, raw, err); again.URL != first.URL || len(b.forge.posted()) != 1 {
		t.Errorf("the same key again: %+v", again)
	}
}

// What a forge takes at most, made to be slow to read.
func BenchmarkCheckBody(b *testing.B) {
	var ticks strings.Builder
	for n := 1; ticks.Len() < maxBody; n++ {
		ticks.WriteString(strings.Repeat("`", n) + " ")
	}
	for name, body := range map[string]string{
		"words": strings.Repeat("plain words of a comment ", maxBody/25), "ticks of all lengths": ticks.String(), "ticks": strings.Repeat("` ", maxBody/2),
		"ticks in lines": strings.Repeat("`\n", maxBody/2), "fences": strings.Repeat("a\n```\n", maxBody/6), "at signs": strings.Repeat("@a/", maxBody/3),
		"half keywords": strings.Repeat("fix ", maxBody/4),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = strict.checkBody(body)
			}
		})
	}
}
