# A small PSGI application: a page, what it sees of a request, an upload, a large answer, an answer in pieces.
use strict;
use warnings;

my %pages = (
    'GET /'       => \&hello,
    'GET /seen'   => \&seen,
    'POST /echo'  => \&echo,
    'GET /large'  => sub { answer(200, 'application/octet-stream', '0123456789abcdef' x 65536) },
    'GET /pieces' => \&pieces,
);

sub answer {
    my ($status, $type, $content) = @_;
    return [$status, ['Content-Type' => $type, 'Content-Length' => length $content], [$content]];
}

sub hello { answer(200, 'text/plain', "hello world\n") }

# The process that answers, and the client as hayami names it.
sub seen {
    my $env = shift;
    my @seen = map { "$_: " . ($env->{$_} // '') } qw(HTTP_HOST HTTP_X_FORWARDED_FOR HTTP_X_FORWARDED_PROTO QUERY_STRING);
    return answer(200, 'text/plain', join("\n", "process: $$", @seen) . "\n");
}

# The content of the request, whether its length was known or it came in chunks.
sub echo {
    my $env = shift;
    my $content = '';
    while ($env->{'psgi.input'}->read(my $piece, 65536)) {
        $content .= $piece;
    }
    return answer(200, $env->{CONTENT_TYPE} // 'application/octet-stream', $content);
}

# Without a length the server sends chunks, or closes the connection at the end.
sub pieces {
    return sub {
        my $writer = shift->([200, ['Content-Type' => 'text/plain']]);
        $writer->write("piece $_\n") for 1 .. 100;
        $writer->close;
    };
}

my $app = sub {
    my $env    = shift;
    my $method = $env->{REQUEST_METHOD};
    my $page   = $pages{($method eq 'HEAD' ? 'GET' : $method) . " $env->{PATH_INFO}"};
    my $answer = $page ? $page->($env) : answer(404, 'text/plain', "not here\n");
    # The answer to HEAD has the head of the answer to GET, and no content.
    $answer->[2] = [] if $method eq 'HEAD' && ref $answer eq 'ARRAY';
    return $answer;
};

$app;
