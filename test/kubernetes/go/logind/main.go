// Command logind stands in for systemd's logind, for one kubelet: a private bus on a socket on which a test announces the shutdown of the machine.
//
//	logind SOCKET WORDS      each line that is written into the pipe WORDS, `true` or `false`, is told as the signal PrepareForShutdown
//
// It answers what a kubelet asks: how long a shutdown may be delayed, and for a lock that delays it.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/godbus/dbus/v5"
)

const (
	longestDelayUs = uint64(3600e6)
	serialOffset   = 8
)

type bus struct {
	lock    sync.Mutex
	serial  uint32
	clients map[*net.UnixConn]bool
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(socket, pipe string) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return err
	}
	// Also for writing: then it never comes to its end.
	words, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	served := &bus{clients: map[*net.UnixConn]bool{}}
	go served.announce(words)
	for {
		client, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		go served.serve(client)
	}
}

// announce tells every client that is there.
func (b *bus) announce(words *os.File) {
	lines := bufio.NewScanner(words)
	for lines.Scan() {
		b.lock.Lock()
		for client := range b.clients {
			b.send(client, shutdown(lines.Text() == "true"))
		}
		b.lock.Unlock()
	}
}

func (b *bus) serve(client *net.UnixConn) {
	defer client.Close()
	reader := bufio.NewReader(client)
	if !authenticate(client, reader) {
		return
	}
	for {
		message, err := dbus.DecodeMessage(reader)
		if err != nil {
			break
		}
		if message.Type != dbus.TypeMethodCall {
			continue
		}
		b.lock.Lock()
		b.send(client, b.answer(client, message))
		b.lock.Unlock()
	}
	b.lock.Lock()
	delete(b.clients, client)
	b.lock.Unlock()
}

// authenticate takes whoever can reach the socket, which lies in the cluster's own namespaces.
func authenticate(client *net.UnixConn, reader *bufio.Reader) bool {
	if null, err := reader.ReadByte(); err != nil || null != 0 {
		return false
	}
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return false
		}
		reply := "ERROR"
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "BEGIN":
			return true
		case words[0] == "NEGOTIATE_UNIX_FD":
			reply = "AGREE_UNIX_FD"
		case words[0] == "AUTH" && len(words) > 1:
			reply = "OK 00000000000000000000000000000000"
		case words[0] == "AUTH":
			reply = "REJECTED EXTERNAL"
		}
		if _, err := client.Write([]byte(reply + "\r\n")); err != nil {
			return false
		}
	}
}

func (b *bus) answer(client *net.UnixConn, call *dbus.Message) *dbus.Message {
	headers := map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
		dbus.FieldSender:      dbus.MakeVariant("org.freedesktop.DBus"),
	}
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: headers}
	switch member := call.Headers[dbus.FieldMember].Value(); member {
	case "Hello":
		reply.Body = []interface{}{":1.1"}
	case "AddMatch":
		b.clients[client] = true
		fmt.Println("listened to")
	case "Get":
		reply.Body = []interface{}{dbus.MakeVariant(longestDelayUs)}
	case "Inhibit":
		// Held by nobody: the machine of a test is never shut down.
		lock, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return refused(reply, err.Error())
		}
		reply.Body = []interface{}{dbus.UnixFD(lock)}
	default:
		return refused(reply, fmt.Sprintf("%v is not known here", member))
	}
	return reply
}

func refused(reply *dbus.Message, why string) *dbus.Message {
	reply.Type = dbus.TypeError
	reply.Headers[dbus.FieldErrorName] = dbus.MakeVariant("org.freedesktop.DBus.Error.UnknownMethod")
	reply.Body = []interface{}{why}
	return reply
}

func shutdown(isComing bool) *dbus.Message {
	return &dbus.Message{Type: dbus.TypeSignal, Body: []interface{}{isComing}, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/login1")),
		dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.login1.Manager"),
		dbus.FieldMember:    dbus.MakeVariant("PrepareForShutdown"),
		dbus.FieldSender:    dbus.MakeVariant("org.freedesktop.login1"),
	}}
}

// send gives the message its number, and hands on the files that it speaks of. A client that is gone will be noticed where it is read.
func (b *bus) send(client *net.UnixConn, message *dbus.Message) {
	files, err := message.CountFds()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if len(message.Body) > 0 {
		message.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(message.Body...))
	}
	if files > 0 {
		message.Headers[dbus.FieldUnixFDs] = dbus.MakeVariant(uint32(files))
	}
	var encoded bytes.Buffer
	descriptors, err := message.EncodeToWithFDs(&encoded, binary.LittleEndian)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	b.serial++
	binary.LittleEndian.PutUint32(encoded.Bytes()[serialOffset:], b.serial)
	_, _, _ = client.WriteMsgUnix(encoded.Bytes(), syscall.UnixRights(descriptors...), nil)
	for _, descriptor := range descriptors {
		_ = syscall.Close(descriptor)
	}
}
