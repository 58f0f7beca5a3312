module hayami.test/client

go 1.25
