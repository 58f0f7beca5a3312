// A service and a client by gRPC's own library.
//
//	grpc serve [CERTIFICATE KEY]   prints the port; every event of interest is a line
//	grpc ask 127.0.0.1:8080 [CA]
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	if os.Args[1] == "serve" {
		serve(os.Args[2:])
	} else {
		ask(os.Args[2], os.Args[3:])
	}
}

type text = wrapperspb.StringValue

func serve(secrets []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	var options []grpc.ServerOption
	if len(secrets) == 2 {
		pair, err := tls.LoadX509KeyPair(secrets[0], secrets[1])
		check(err)
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Once", Handler: once}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Many", Handler: many, ServerStreams: true},
			{StreamName: "Sum", Handler: sum, ClientStreams: true},
			{StreamName: "Chat", Handler: chat, ServerStreams: true, ClientStreams: true},
		},
	}, struct{}{})
	fmt.Printf("listening on port %d\n", listener.Addr().(*net.TCPAddr).Port)
	check(server.Serve(listener))
}

// once echoes; "fail" is an error without any message, and "wait" lasts until the client gives up.
func once(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var in text
	if err := decode(&in); err != nil {
		return nil, err
	}
	switch in.Value {
	case "fail":
		return nil, status.Error(codes.NotFound, "nothing: 100 % of it")
	case "wait":
		<-ctx.Done()
		fmt.Println("canceled")
		return nil, ctx.Err()
	}
	names, _ := metadata.FromIncomingContext(ctx)
	grpc.SetHeader(ctx, metadata.Pairs("got", strings.Join(names.Get("sent"), ",")))
	grpc.SetTrailer(ctx, metadata.Pairs("end", "reached"))
	return wrapperspb.String(in.Value), nil
}

func many(_ any, stream grpc.ServerStream) error {
	var in text
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	for number := range 1000 {
		if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(in.Value, number))); err != nil {
			return err
		}
	}
	return nil
}

func sum(_ any, stream grpc.ServerStream) error {
	var in text
	bytes := 0
	for {
		err := stream.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			return stream.SendMsg(wrapperspb.String(fmt.Sprint(bytes)))
		}
		if err != nil {
			return err
		}
		bytes += len(in.Value)
	}
}

func chat(_ any, stream grpc.ServerStream) error {
	var in text
	for {
		err := stream.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			return status.Error(codes.ResourceExhausted, "enough said")
		}
		if err != nil {
			fmt.Println("left")
			return err
		}
		if err := stream.SendMsg(wrapperspb.String("you said " + in.Value)); err != nil {
			return err
		}
	}
}

func ask(address string, authority []string) {
	how := insecure.NewCredentials()
	if len(authority) == 1 {
		var err error
		how, err = credentials.NewClientTLSFromFile(authority[0], "")
		check(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(how))
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	askOnce(ctx, conn)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { askOnce(ctx, conn) })
	}
	all.Wait()
	askMany(ctx, conn)
	askSum(ctx, conn)
	askChat(ctx, conn)
	giveUp(ctx, conn)
	fmt.Println("done")
}

func askOnce(ctx context.Context, conn *grpc.ClientConn) {
	var out text
	var head, end metadata.MD
	ctx = metadata.AppendToOutgoingContext(ctx, "sent", "along")
	check(conn.Invoke(ctx, "/test.Echo/Once", wrapperspb.String("hello"), &out, grpc.Header(&head), grpc.Trailer(&end)))
	expect(out.Value, "hello")
	expect(head.Get("got"), []string{"along"})
	expect(end.Get("end"), []string{"reached"})
	err := conn.Invoke(ctx, "/test.Echo/Once", wrapperspb.String("fail"), &out)
	expect(status.Code(err), codes.NotFound)
	expect(status.Convert(err).Message(), "nothing: 100 % of it")
	err = conn.Invoke(ctx, "/test.Echo/Unknown", wrapperspb.String(""), &out)
	expect(status.Code(err), codes.Unimplemented)
	large := strings.Repeat("x", 1_000_000)
	check(conn.Invoke(ctx, "/test.Echo/Once", wrapperspb.String(large), &out))
	expect(len(out.Value), len(large))
}

func begin(ctx context.Context, conn *grpc.ClientConn, method string) grpc.ClientStream {
	desc := grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := conn.NewStream(ctx, &desc, "/test.Echo/"+method)
	check(err)
	return stream
}

func askMany(ctx context.Context, conn *grpc.ClientConn) {
	stream := begin(ctx, conn, "Many")
	check(stream.SendMsg(wrapperspb.String("number ")))
	check(stream.CloseSend())
	var out text
	for number := range 1000 {
		check(stream.RecvMsg(&out))
		expect(out.Value, fmt.Sprint("number ", number))
	}
	expect(stream.RecvMsg(&out), io.EOF)
}

func askSum(ctx context.Context, conn *grpc.ClientConn) {
	stream := begin(ctx, conn, "Sum")
	for range 300 {
		check(stream.SendMsg(wrapperspb.String(strings.Repeat("y", 10_000))))
	}
	check(stream.CloseSend())
	var out text
	check(stream.RecvMsg(&out))
	expect(out.Value, "3000000")
}

// askChat says nothing before it has heard what it said before; and pauses for longer than uploads may.
func askChat(ctx context.Context, conn *grpc.ClientConn) {
	stream := begin(ctx, conn, "Chat")
	var out text
	for number := range 100 {
		said := fmt.Sprint("word ", number)
		check(stream.SendMsg(wrapperspb.String(said)))
		check(stream.RecvMsg(&out))
		expect(out.Value, "you said "+said)
		if number == 50 {
			time.Sleep(1500 * time.Millisecond)
		}
	}
	check(stream.CloseSend())
	expect(status.Convert(stream.RecvMsg(&out)).Message(), "enough said")
}

// giveUp has calls end by the client's will: by a deadline, which the service knows too and may be the first to notice;
// while an answer is waited for; and in the middle of a conversation.
func giveUp(ctx context.Context, conn *grpc.ClientConn) {
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	var out text
	err := conn.Invoke(short, "/test.Echo/Once", wrapperspb.String("wait"), &out)
	if code := status.Code(err); code != codes.Unavailable {
		expect(code, codes.DeadlineExceeded)
	}
	leaving, leave := context.WithCancel(ctx)
	time.AfterFunc(300*time.Millisecond, leave)
	err = conn.Invoke(leaving, "/test.Echo/Once", wrapperspb.String("wait"), &out)
	expect(status.Code(err), codes.Canceled)
	leaving, leave = context.WithCancel(ctx)
	stream := begin(leaving, conn, "Chat")
	check(stream.SendMsg(wrapperspb.String("hello")))
	check(stream.RecvMsg(&out))
	leave()
	expect(status.Code(stream.RecvMsg(&out)), codes.Canceled)
}

func expect[T any](got, want T) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		panic(fmt.Sprintf("%v was wanted, not %v", want, got))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
