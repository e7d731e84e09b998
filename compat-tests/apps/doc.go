// Package apps runs the sample applications of the compat tests: unmodified
// clients in processes of their own, driven by a line protocol. An application
// prints one event a line and takes one command a line:
//
//	READY provider 22005 pid 10030        it is up
//	PROVIDERS 2 [a:1 b:2] ...             its list, whenever that changes
//	CALL ok hello-you from 22005          the answer to the command "call"
//	CALL fail no provider available       or why there is none
//
// "exit" ends it gracefully. Every line is kept with the time it came.
package apps
