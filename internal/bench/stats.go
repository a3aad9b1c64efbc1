package main

import (
	"math"
	"slices"
	"time"
)

// series holds what one program scored, one value a round. Values of the same round of two
// programs were measured right after one another, so that what else runs on the machine weighs
// on both alike.
type series []float64

// median of the rounds; NaN of none.
func (s series) median() float64 { return s.quantile(0.5) }

// quantile interpolates between the two nearest rounds.
func (s series) quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// over divides round by round; a round that only one of the two has is left out.
func (s series) over(other series) series {
	n := min(len(s), len(other))
	out := make(series, n)
	for i := range n {
		out[i] = s[i] / other[i]
	}
	return out
}

// each applies f to every round.
func (s series) each(f func(float64) float64) series {
	out := make(series, len(s))
	for i, v := range s {
		out[i] = f(v)
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// medianOf is the median of times, in milliseconds.
func medianOf(times []time.Duration) float64 {
	s := make(series, len(times))
	for i, t := range times {
		s[i] = milliseconds(t)
	}
	return s.median()
}
