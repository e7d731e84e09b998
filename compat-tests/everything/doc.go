// Package everything is the kill-everything drill: bridge and registry are killed
// at the same moment under real Dubbo consumers that go on calling. No call may
// fail while nothing of discovery runs, and once both are back every view is what
// it was before, by the observer's account.
package everything
