// Package github is the bridge's provider for GitHub and GitHub Enterprise Server: it speaks
// their REST API, and GraphQL where REST does not tell. It may not know ships, grants or
// credentials; everything it sends goes through a bridge.Guard.
package github

import gh "github.com/google/go-github/v89/github"

// accept asks for the current representation, of GitHub and of its Enterprise Server alike.
const accept = "application/vnd.github+json"

var _ gh.RequestOption
