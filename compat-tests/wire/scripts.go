package wire

import "slices"

// Scripts are all scripts, in the order in which they are played.
func Scripts() []Script {
	return slices.Concat(
		createScripts(),
		sequentialScripts(),
		writeScripts(),
		readScripts(),
		pathScripts(),
		aclScripts(),
		guardScripts(),
		multiScripts(),
		statScripts(),
		kindScripts(),
		quotaScripts(),
		zxidScripts(),
		watchScripts(),
		catchUpScripts(),
		persistentScripts(),
		sessionScripts(),
		expiryScripts(),
		framingScripts(),
		decodeScripts(),
		fieldScripts(),
		fourLetterScripts(),
		manyScripts(),
		restartScripts(),
	)
}
