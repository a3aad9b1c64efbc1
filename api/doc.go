// Package api is the wire contract of Fleet: the shapes that ship, bridge, adapter and
// operators exchange, the ten error codes, and the JSON schemas of the files that people
// write. It imports nothing of ours and knows neither tmux, nor HTTP, nor any forge.
package api
