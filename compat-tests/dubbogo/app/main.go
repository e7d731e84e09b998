package main

import (
	_ "dubbo.apache.org/dubbo-go/v3/imports"
)

func main() {}
