package bridgetest

import "net/http"

// showUser is not for installations: they are no user.
func showUser(c *call) reply {
	if c.token == nil {
		return refuse(http.StatusUnauthorized, "Requires authentication")
	}
	if c.token.install != nil {
		return refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return ok(c.me(c.gh.who(c.token.login)))
}

func showMeta(*call) reply {
	return ok(object{"verifiable_password_authentication": false, "hooks": []any{"127.0.0.0/8"}, "installed_version": "3.19.0"})
}
