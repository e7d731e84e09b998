package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplaceWhatIsOfTheRun(t *testing.T) {
	l := labels{22005: "A", 22006: "B"}
	require.Equal(t, "/dubbo/x/providers/dubbo%3A%2F%2F192.0.2.10%3A<A>%2Fx%3Fdubbo%3D2.0.2%26pid%3D<pid>%26rapid%3D7%26timestamp%3D<time>",
		l.replace("/dubbo/x/providers/dubbo%3A%2F%2F192.0.2.10%3A22005%2Fx%3Fdubbo%3D2.0.2%26pid%3D77%26rapid%3D7%26timestamp%3D1796089814"))
	require.Equal(t, "/services/app/192.0.2.10:<B>", l.replace("/services/app/192.0.2.10:22006"))
	require.Equal(t, "ok hello-you from <port>", l.call("ok hello-you from 22006"))
	require.Equal(t, "a%26retries%3D", l.replace("a%26registry.ttl%3D15m%26retries%3D"))
	require.Equal(t, "122005", l.replace("122005"))
}

func TestCompareDocumentsAsSuch(t *testing.T) {
	l := labels{22005: "A"}
	require.Equal(t, l.data([]byte(`{"b":[{"pid":"1"}],"port":22005,"a":{"timestamp":"2"}}`)),
		l.data([]byte(`{"a":{"timestamp":"3"},"port":22005,"b":[{"pid":"4"}]}`)))
	require.NotEqual(t, l.data([]byte(`{"a":1}`)), l.data([]byte(`{"a":2}`)))
	require.Equal(t, "192.0.2.10", l.data([]byte("192.0.2.10")))
}

func TestDifference(t *testing.T) {
	require.Equal(t, []string{"a"}, difference([]string{"a", "a", "b"}, []string{"a", "b"}))
	require.Empty(t, difference([]string{"a"}, []string{"a", "b"}))
}
