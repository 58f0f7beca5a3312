import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/**
 * A database that speaks MongoDB's wire protocol, for a machine without MongoDB. It keeps its data in one file.
 *
 * <pre>Database PORT FILE</pre>
 *
 * SIGTERM writes what is not written yet and ends it; after SIGKILL the last second may be missing.
 */
public final class Database {
    /** What drivers of today ask for at least. The server itself calls itself older; what the API needs it has. */
    private static final class Version implements MongoVersion {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(4, 4, 0);
        }

        @Override
        public int getWireVersion() {
            return 9;
        }
    }

    private Database() {}

    public static void main(String[] arguments) {
        if (arguments.length != 2) {
            System.err.println("usage: Database PORT FILE");
            System.exit(64);
        }
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
        MongoServer server = new MongoServer(new H2Backend(arguments[1]).version(new Version()));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        System.out.println("ready: " + server.getConnectionString());
    }
}
