package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var (
	errMissing = errors.New("there is no such product")
	errExists  = errors.New("there is a product of that id already")
	errChanged = errors.New("the product has changed since")
)

// store is the collection of products.
type store struct {
	client      *mongo.Client
	products    *mongo.Collection
	connections atomic.Int64
}

// openStore does not wait for the database: the driver connects when it is asked.
func openStore(url string, pool uint64) (*store, error) {
	s := &store{}
	created := func(e *event.PoolEvent) {
		if e.Type == event.ConnectionCreated {
			s.connections.Add(1)
		}
	}
	set := options.Client().ApplyURI(url).SetMaxPoolSize(pool).
		SetServerSelectionTimeout(3 * time.Second).
		SetPoolMonitor(&event.PoolMonitor{Event: created})
	if pool == 0 {
		// No pooling: a connection that has waited at all is too old, so each operation opens its own. The
		// driver would open two at a time only.
		set = set.SetMaxConnIdleTime(1).SetMaxConnecting(1000)
	}
	client, err := mongo.Connect(set)
	if err != nil {
		return nil, err
	}
	s.client, s.products = client, client.Database("shop").Collection("products")
	return s, nil
}

func (s *store) ping(ctx context.Context) error {
	return s.client.Ping(ctx, nil)
}

// seed inserts what is missing of the first products. What is there stays as it is.
func (s *store) seed(ctx context.Context, count int) error {
	there, err := s.products.CountDocuments(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: "p-"}, {Key: "$lt", Value: "p."}}}})
	if err != nil || there >= int64(count) {
		return err
	}
	documents := make([]any, count)
	for number := range documents {
		documents[number] = sample(number)
	}
	_, err = s.products.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return err
}

// sample is the product of a number: always the same, of 0.3 to 1.2 KB as JSON.
func sample(number int) *product {
	words := strings.Fields("fast water runs over stones and under bridges past mills to the wide sea")
	var text strings.Builder
	for at := range 10 + number%13*12 {
		fmt.Fprintf(&text, "%s ", words[(at*5+number)%len(words)])
	}
	return &product{
		ID:          fmt.Sprintf("p-%05d", number),
		Name:        fmt.Sprintf("Product %d", number),
		Cents:       int64(number*37%9900 + 99),
		Stock:       int64(number % 200),
		Tags:        []string{words[number%len(words)], words[(number+5)%len(words)]},
		Description: strings.TrimSpace(text.String()),
		Changed:     time.Unix(1_700_000_000+int64(number), 0).UTC(),
		Revision:    fmt.Sprintf("%024x", number),
	}
}

// page gives products in the order of their ids: those behind `after`, and whether there are more.
func (s *store) page(ctx context.Context, after, tag string, limit int) ([]product, bool, error) {
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}}
	if tag != "" {
		filter = append(filter, bson.E{Key: "tags", Value: tag})
	}
	// One more than asked for tells whether there is a next page.
	set := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit) + 1)
	cursor, err := s.products.Find(ctx, filter, set)
	if err != nil {
		return nil, false, err
	}
	found := []product{}
	if err := cursor.All(ctx, &found); err != nil {
		return nil, false, err
	}
	if len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}

func (s *store) get(ctx context.Context, id string) (*product, error) {
	found := &product{}
	err := s.products.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, errMissing
	}
	return found, err
}

func (s *store) create(ctx context.Context, p *product) error {
	s.stamp(p)
	_, err := s.products.InsertOne(ctx, p)
	if mongo.IsDuplicateKeyError(err) {
		return errExists
	}
	return err
}

// put creates or replaces; with revisions it replaces one of them and nothing else. It tells whether it
// was created.
func (s *store) put(ctx context.Context, p *product, revisions []string) (bool, error) {
	s.stamp(p)
	set := options.Replace().SetUpsert(revisions == nil)
	done, err := s.products.ReplaceOne(ctx, of(p.ID, revisions), p, set)
	if err != nil {
		return false, err
	}
	if done.MatchedCount == 0 && done.UpsertedCount == 0 {
		return false, errChanged
	}
	return done.UpsertedCount > 0, nil
}

// remove deletes; with revisions only one of them.
func (s *store) remove(ctx context.Context, id string, revisions []string) error {
	done, err := s.products.DeleteOne(ctx, of(id, revisions))
	switch {
	case err != nil:
		return err
	case done.DeletedCount > 0:
		return nil
	case revisions != nil:
		return errChanged
	default:
		return errMissing
	}
}

func (s *store) stamp(p *product) {
	// MongoDB keeps milliseconds.
	p.Changed, p.Revision = time.Now().UTC().Truncate(time.Millisecond), bson.NewObjectID().Hex()
}

// of finds a product by its id, and by what it has to be before it may be changed.
func of(id string, revisions []string) bson.D {
	filter := bson.D{{Key: "_id", Value: id}}
	if revisions != nil {
		filter = append(filter, bson.E{Key: "revision", Value: bson.D{{Key: "$in", Value: revisions}}})
	}
	return filter
}
