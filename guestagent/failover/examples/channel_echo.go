// The same in Go: messages that arrive once and in order, whatever moves in between.
//
//	channel_echo 10.0.0.1                      answers
//	channel_echo 10.0.0.1 10.0.0.2 [GIVE-UP]   from .2: sends a number each 100 ms and checks the answers; gives the peer
//	                                           up after so many ms
//
// Build: go build channel_echo.go
package main

/*
#cgo pkg-config: rdmove
#include <rdmove.h>

// Exported below: Go's declarations have no const.
void onReceived(rdmove_channel*, void*, size_t, void*);
void onUp(rdmove_channel*, void*);
void onGone(rdmove_channel*, struct rdmove_channel_end*, void*);
void onRequest(rdmove_request*, void*);
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
	"unsafe"
)

var server, answered, ended = len(os.Args) == 2, uint64(0), make(chan string)

func fail(what string) {
	fmt.Fprintln(os.Stderr, what+": "+C.GoString(C.rdmove_error_message()))
	os.Exit(1)
}

//export onReceived
func onReceived(channel *C.rdmove_channel, message unsafe.Pointer, length C.size_t, user unsafe.Pointer) {
	if server {
		C.rdmove_channel_send(channel, message, length)
		return
	}
	answered++
	if got := binary.LittleEndian.Uint64(C.GoBytes(message, 8)); got != answered {
		fmt.Println("expected", answered, "got", got)
	}
}

//export onUp
func onUp(channel *C.rdmove_channel, user unsafe.Pointer) {
	fmt.Println("up; blackout", C.rdmove_channel_last_blackout_ms(channel), "ms")
}

//export onGone
func onGone(channel *C.rdmove_channel, end *C.struct_rdmove_channel_end, user unsafe.Pointer) {
	ended <- C.GoString(end.message)
}

//export onRequest
func onRequest(request *C.rdmove_request, user unsafe.Pointer) {
	callbacks := C.struct_rdmove_channel_callbacks{size: C.sizeof_struct_rdmove_channel_callbacks, received: (*[0]byte)(C.onReceived)}
	var channel *C.rdmove_channel
	if C.rdmove_channel_accept(request, nil, &callbacks, nil, &channel) != 0 {
		fmt.Println("not accepted")
	}
}

// A sockaddr_in, as its bytes.
func address(text string, port uint16) *C.struct_sockaddr {
	bytes := append([]byte{2, 0, byte(port >> 8), byte(port)}, net.ParseIP(text).To4()...)
	return (*C.struct_sockaddr)(C.CBytes(append(bytes, make([]byte, 8)...)))
}

func main() {
	if len(os.Args) < 2 || net.ParseIP(os.Args[1]).To4() == nil {
		fmt.Fprintln(os.Stderr, "usage: channel_echo SERVER [OUR-ADDRESS [GIVE-UP]]")
		os.Exit(2)
	}
	var loop *C.rdmove_loop
	var channel *C.rdmove_channel
	if C.rdmove_loop_create(nil, &loop) != 0 || C.rdmove_loop_start(loop) != 0 {
		fail("loop")
	}
	if server {
		if C.rdmove_listen(loop, address(os.Args[1], 7473), C.RDMOVE_ADDRESS_MUST_EXIST, (*[0]byte)(C.onRequest), nil, new(*C.rdmove_listener)) != 0 {
			fail("listen")
		}
		select {}
	}
	options := C.struct_rdmove_channel_options{size: C.sizeof_struct_rdmove_channel_options}
	if len(os.Args) > 3 {
		milliseconds, _ := strconv.Atoi(os.Args[3])
		options.connection = C.struct_rdmove_connection_options{size: C.sizeof_struct_rdmove_connection_options, give_up_after_ms: C.uint32_t(milliseconds)}
	}
	callbacks := C.struct_rdmove_channel_callbacks{size: C.sizeof_struct_rdmove_channel_callbacks,
		up: (*[0]byte)(C.onUp), gone: (*[0]byte)(C.onGone), received: (*[0]byte)(C.onReceived)}
	if C.rdmove_channel_connect(loop, address(os.Args[1], 7473), address(os.Args[2], 0), &options, &callbacks, nil, &channel) != 0 {
		fail("connect")
	}
	for number := uint64(1); ; {
		message := binary.LittleEndian.AppendUint64(nil, number)
		if C.rdmove_channel_send(channel, unsafe.Pointer(&message[0]), 8) > 0 {
			number++
		}
		select {
		case why := <-ended:
			fmt.Println("gone:", why)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
