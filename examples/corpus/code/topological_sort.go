// Package build puts tasks into an order in which each comes after what it needs.
package build

import (
	"fmt"
	"sort"
)

// Graph maps a task to the tasks that it depends on.
type Graph map[string][]string

// Order returns the tasks so that dependencies come first, ties by name. A cycle is an error that names its members.
func (g Graph) Order() ([]string, error) {
	missing := map[string]int{}
	dependents := map[string][]string{}
	for task, needs := range g {
		missing[task] += 0
		for _, need := range needs {
			missing[need] += 0
			missing[task]++
			dependents[need] = append(dependents[need], task)
		}
	}
	var ready, order []string
	for task, count := range missing {
		if count == 0 {
			ready = append(ready, task)
		}
	}
	for len(ready) > 0 {
		sort.Strings(ready)
		task := ready[0]
		ready = ready[1:]
		order = append(order, task)
		for _, next := range dependents[task] {
			missing[next]--
			if missing[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if len(order) < len(missing) {
		return nil, fmt.Errorf("circular dependency among %v", g.unfinished(missing))
	}
	return order, nil
}

func (g Graph) unfinished(missing map[string]int) []string {
	var left []string
	for task, count := range missing {
		if count > 0 {
			left = append(left, task)
		}
	}
	sort.Strings(left)
	return left
}
