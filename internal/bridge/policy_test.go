package bridge

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

const planted = "planted"

var outsiders = Policy{TrustedAuthorsOnly: true}

// plant puts the word into every text of v, and an outsider wherever an author stands.
func plant(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[api.Author]() {
			v.Set(reflect.ValueOf(api.Author{Login: "mallory", Association: "NONE"}))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plant(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0))
	case reflect.String:
		v.SetString(planted)
	default: // holds no text
	}
}

// where says in which fields the word stands.
func where(v reflect.Value, path string, found map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		where(v.Elem(), path, found)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				name := path + "." + f.Name
				if f.Anonymous {
					name = path
				}
				where(v.Field(i), name, found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			where(v.Index(i), path+"[]", found)
		}
	case reflect.String:
		if strings.Contains(v.String(), planted) {
			found[path] = true
		}
	default:
	}
}

// Whoever adds a field to an answer must say here why an outsider has no hand in it.
func TestWhatAnOutsiderCanWriteStaysInNoFieldOfAnAnswer(t *testing.T) {
	list := " .NextCursor .Items[].State .Items[].Labels[] .Items[].URL"
	thread := " .Kind .Note .State .Labels[] .URL .NextCursor .Incomplete[] .Comments[].Kind .Comments[].URL .Comments[].State .Comments[].CommitSHA"
	for name, c := range map[string]struct {
		v    any
		kept string // by the forge, by those who run the repository, or by the bridge
	}{
		"issue list": {&api.List[api.IssueItem]{}, list},
		"pull list":  {&api.List[api.PullItem]{}, list + " .Items[].Base .Items[].HeadSHA"},
		"issue":      {&api.IssueView{}, thread + " .Milestone .Assignees[] .Comments[].Path"}, // an issue has no files
		"pull":       {&api.PullView{}, thread + " .Base .HeadSHA .BaseSHA .Mergeable .MergeState .Reviewers[] .Verdicts[].State"},
		"checks": {&api.Checks{}, " .Target.Ref .Target.Branch .Target.SHA .Target.Note .Overall .Reason .NextCursor" +
			" .Items[].Source .Items[].Bucket .Items[].State .Items[].App"},
		"failed logs": {&api.FailedLogs{}, " .Target.Ref .Target.Branch .Target.SHA .Target.Note .Note .NextCursor .Jobs[].Conclusion"},
	} {
		t.Run(name, func(t *testing.T) {
			plant(reflect.ValueOf(c.v).Elem())
			var screened any
			var err error
			switch c.v.(type) {
			case *api.Checks, *api.FailedLogs: // their target is the broker's
				screened, err = screenedCommit(c.v, "it is mallory's", Repo{Path: "acme/widgets"})
			default:
				screened, err = outsiders.screened(c.v)
			}
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			where(reflect.ValueOf(screened), "", found)
			got := slices.Sorted(maps.Keys(found))
			if want := slices.Sorted(slices.Values(strings.Fields(c.kept))); !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
			if words := reflect.ValueOf(screened).Elem().FieldByName("Withheld").String(); !strings.Contains(words, "Next: ask a human") {
				t.Errorf("withheld is %q, want what to do", words)
			}
		})
	}
}

func TestAnAnswerThatNobodyThoughtOfIsNotShown(t *testing.T) {
	if v, err := outsiders.screened(&api.Written{URL: planted}); v != nil || err == nil {
		t.Errorf("screened = %v, %v", v, err)
	}
	if v, err := screenedCommit(&api.RepoInfo{Description: planted}, "why", Repo{}); v != nil || err == nil {
		t.Errorf("screenedCommit = %v, %v", v, err)
	}
}

func TestAStandingThatTheForgeDoesNotTellIsNone(t *testing.T) {
	for association, trusted := range map[string]bool{
		"OWNER": true, "MEMBER": true, "COLLABORATOR": true, "": false, "owner": false, "CONTRIBUTOR": false, "FIRST_TIMER": false,
		"FIRST_TIME_CONTRIBUTOR": false, "MANNEQUIN": false, "NONE": false, "SOMETHING_NEW": false,
	} {
		if a := (api.Author{Login: "ann", Association: association}); outsiders.trusts(a) != trusted || !(Policy{}).trusts(a) {
			t.Errorf("%q is trusted: %v, want %v, and always without the policy", association, !trusted, trusted)
		}
	}
	if !strings.Contains(who(api.Author{Login: "app[bot]", Bot: true}), "app[bot] (standing not told, a bot)") {
		t.Error(who(api.Author{Login: "app[bot]", Bot: true}))
	}
}

// What takes a title's place may be longer than it.
func TestAWithheldItemIsNoLargerThanAnItemMayBe(t *testing.T) {
	author := api.Author{Login: strings.Repeat("m", 39), Association: "FIRST_TIME_CONTRIBUTOR"}
	for n := range 60 {
		item := api.PullItem{Title: "x", Author: author, Head: "y", Base: "main"}
		for i := 0; indentedSize(item, "    ") < MaxListItem-20; i++ {
			item.Labels = append(item.Labels, strings.Repeat("l", n%7+1))
		}
		list := &api.List[api.PullItem]{Items: []api.PullItem{item}}
		if _, err := outsiders.screened(list); err != nil {
			t.Fatal(err)
		}
		got := list.Items[0]
		if size := indentedSize(got, "    "); size > MaxListItem || !strings.Contains(got.Title, author.Login) || !strings.HasPrefix(got.Labels[len(got.Labels)-1], "… ") {
			t.Errorf("%d bytes, %q, %q", size, got.Title, got.Labels)
		}
	}
}

func TestAnAddressIsKeptWhereOnlyTheForgeChoseIt(t *testing.T) {
	for address, kept := range map[string]bool{
		"https://github.com/acme/widgets/actions/runs/1/job/2":       true,
		"https://github.com/ACME/Widgets/actions/runs/1":             true,
		"https://ghe.example/acme/widgets/actions/runs/1/attempts/2": true,
		"https://github.com/acme/widgets/runs/7":                     true,
		"https://github.com/acme/widgets/runs/7?say=please":          false,
		"https://github.com/acme/widgets/runs/7#please":              false,
		"https://please@github.com/acme/widgets/runs/7":              false,
		"https://github.com/please/widgets/runs/7":                   false,
		"https://github.com/acme/widgets/actions/workflows/please":   false,
		"https://github.com/acme/widgets":                            false,
		"https://ci.example/please/7":                                false,
		"%":                                                          false, "": false,
	} {
		if isRunAddress(address, Repo{Path: "acme/widgets"}) != kept {
			t.Errorf("%q is kept: %v, want %v", address, !kept, kept)
		}
	}
}

// registryWith is that of tools, with a policy for widgets that can be changed.
func registryWith(policy *atomic.Pointer[Policy]) func() map[string]Registered {
	return func() map[string]Registered {
		all := tools()
		r := all["widgets"]
		r.Policy = *policy.Load()
		all["widgets"] = r
		return all
	}
}

func TestAPolicyCountsFromTheNextAnswerOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.issue = func(context.Context, int, string) (*api.IssueView, error) {
			time.Sleep(time.Second)
			return &api.IssueView{IssueItem: api.IssueItem{Number: 7, Author: api.Author{Login: "mallory"}}, Text: api.Text{Body: planted}}, nil
		}
		var policy atomic.Pointer[Policy]
		policy.Store(&Policy{})
		b := openBench(t, "", f, func(c *Config) { c.Registry = registryWith(&policy) })
		view := Request{Op: OpIssueView, Repo: "widgets", Number: 7}
		raw, err := b.do(view)
		if v := decode[api.IssueView](t, raw, err); v.Body != planted {
			t.Errorf("without a policy: %+v", v)
		}
		policy.Store(&outsiders)
		raw, err = b.do(view) // at once, while the first answer is fresh
		if v := decode[api.IssueView](t, raw, err); v.Body == planted || v.Withheld == "" {
			t.Errorf("with the policy: %+v", v)
		}
		policy.Store(&Policy{TrustedAuthorsOnly: true, TrustedAuthors: []string{"ann"}})
		go func() {
			time.Sleep(time.Second / 2)
			policy.Store(&outsiders)
		}()
		_, err = b.do(view) // changed on the way
		expectError(t, err, "unavailable/policy_changed")
		policy.Store(&Policy{TrustedAuthorsOnly: true, TrustedAuthors: []string{"ann", "Mallory"}})
		raw, err = b.do(view)
		if v := decode[api.IssueView](t, raw, err); v.Body != planted || v.Withheld != "" {
			t.Errorf("with the author named: %+v", v)
		}
	})
}

func TestAPullWhoseAuthorTheForgeDoesNotNameIsOutside(t *testing.T) {
	f := &fakeForge{}
	f.checks = func(at api.Resolved) (*api.Checks, error) {
		return &api.Checks{Target: at, Items: []api.Check{{Name: planted, Bucket: api.BucketPass}}, Counts: map[string]int{api.BucketPass: 1}}, nil
	}
	var policy atomic.Pointer[Policy]
	policy.Store(&outsiders)
	b := openBench(t, "", f, func(c *Config) { c.Registry = registryWith(&policy) })
	raw, err := b.do(checksOf(7))
	if c := decode[api.Checks](t, raw, err); strings.Contains(string(raw), planted) || c.Counts[api.BucketPass] != 1 || !strings.Contains(c.Withheld, "nobody can tell") {
		t.Errorf("%s", raw)
	}
}

func TestLoginsAreCheckedForTheirShape(t *testing.T) {
	for login, fits := range map[string]bool{
		"octocat": true, "dependabot[bot]": true, "a": true, "octo-cat_acme": true, "x.y": true,
		"": false, "@octocat": false, "[bot]": false, "octo cat": false, "octocat[bot": false, "a/b": false, "-x": false, "ghost": false, "Ghost": false,
		"é": false, "a\n": false, strings.Repeat("x", 101): false,
	} {
		if what := checkLogin(login); (what == "") != fits {
			t.Errorf("%s: %q, want it to fit: %v", fmt.Sprintf("%.20q", login), what, fits)
		}
	}
}
