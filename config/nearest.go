package config

import "strings"

// Nearest returns the name that a person most likely meant by name, "" if none
// comes near: one typing error in short names, two in longer ones, or a name
// that ends or goes on at a "-", as nvidia for nvidia-typo. Among equals the
// first in order wins.
func Nearest(name string, names []string) string {
	best, bestCost := "", -1
	for _, candidate := range names {
		cost, ok := nearness(name, candidate)
		if ok && (bestCost < 0 || cost < bestCost || cost == bestCost && candidate < best) {
			best, bestCost = candidate, cost
		}
	}
	return best
}

// runtimes have names so much alike that a distance means nothing: who asks for
// gVisor's runsc has not mistyped runc.
var runtimes = map[string]bool{"runc": true, "runsc": true, "crun": true, "youki": true}

// maxNearestLen bounds the table of distances; handlers are DNS labels.
const maxNearestLen = 128

// nearness returns how far apart two names are, and whether that is near.
func nearness(a, b string) (int, bool) {
	if a == b || a == "" || b == "" || len(a) > maxNearestLen || len(b) > maxNearestLen {
		return 0, false
	}
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(long) > maxNearestLen { // what is no UTF-8 grows
		return 0, false
	}
	if runtimes[short] && runtimes[long] {
		return 0, false
	}
	if len(long)-len(short) <= 2 {
		if cost := editDistance(short, long); cost <= 1 && len(short) >= 3 || cost == 2 && len(short) >= 5 {
			return cost, true
		}
	}
	if strings.HasPrefix(long, short+"-") || strings.HasSuffix(long, "-"+short) {
		// After the typing errors, the shorter the addition the nearer.
		return maxNearestLen + len(long) - len(short), true
	}
	return 0, false
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours (optimal string alignment).
func editDistance(a, b string) int {
	var rows [3][maxNearestLen + 1]int
	older, old, current := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			replace := old[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			current[j] = min(replace, old[j]+1, current[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, old, current = old, current, older
	}
	return old[len(b)]
}
