// The management API as one thing to open, serve, ask and close. In: settings, a clock, a log, a folder. Out: an HTTPS server of
// access keys and instances, its readiness and status, and keys made on the machine itself. It can be opened without being
// served, for commands that work on the folder of a server that does not run.
import { randomBytes } from 'node:crypto';
import type { Kind } from '../../apiserver/kinds/kind.ts';
import { reviewKinds } from '../../apiserver/kinds/review-kinds.ts';
import { Caretaker } from '../../apiserver/owners/caretaker.ts';
import { negotiate } from '../../apiserver/request/negotiate.ts';
import { parseTarget } from '../../apiserver/request/target.ts';
import { ApiServer } from '../../apiserver/server.ts';
import { authorityIn } from '../../apiserver/tls/authority-folder.ts';
import { makeServingCertificate } from '../../apiserver/tls/certificates.ts';
import { createObject } from '../../apiserver/verbs/create-object.ts';
import { incomingObject } from '../../apiserver/verbs/incoming-object.ts';
import { sendStatus } from '../../apiserver/wire/respond.ts';
import type { Clock, Timer } from '../../clock.ts';
import type { ManagementServerSettings, ManagementSettings } from '../../config/settings/management-settings.ts';
import { parseListen } from '../../config/settings/text-rules.ts';
import type { Log } from '../../log.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { badRequest, pathNotFound } from '../../object/meta/status.ts';
import { SqliteStore } from '../../store/sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { Activity } from '../keys/life/activity.ts';
import type { KeyWorld } from '../keys/life/credential.ts';
import { instanceKind, namespaceKind } from '../kinds/configured-kinds.ts';
import { managementProtobuf, managementSchemas } from '../kinds/schemas.ts';
import { doorPath, isTooLong, LocalDoor } from '../local/local-door.ts';
import { classify } from '../scope/classify.ts';
import { activityPrefix, activityStore, loadActivity, markWhole } from './activity-store.ts';
import { Callers } from './callers.ts';
import { databasePath, makeDataFolder, openSecrets } from './data-folder.ts';
import { KeyBook } from './key-book.ts';
import { keyKind } from './key-kind.ts';
import { KeyStrategy } from './key-strategy.ts';
import { People } from './people.ts';
import { Rights } from './rights.ts';

export interface ManagementOptions {
  settings: ManagementSettings;
  server: ManagementServerSettings;
  clock: Clock;
  log: Log;
  /** Of the program, for /version. */
  version: string;
}

const pathPrefix = '/kubernetes/management';
/** Above what any client of this API sends, and far below what a header could do harm with. */
const maxHeaderBytes = 16 * 1024;
/** Streams of keys that no longer count are ended within a second. */
const streamCheckMs = 400;

export class ManagementApi {
  readonly #options: ManagementOptions;
  #settings: ManagementSettings;
  #parts: OpenParts | undefined;
  #caretaker: Caretaker | undefined;
  #door: LocalDoor | undefined;
  #streamCheck: Timer | undefined;
  #caPem = '';
  #state: 'closed' | 'open' | 'serving' = 'closed';

  constructor(options: ManagementOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  /** Takes the folder: nobody else can until it is closed. */
  async open(): Promise<void> {
    const { server, clock, log } = this.#options;
    const random = (count: number) => randomBytes(count);
    await makeDataFolder(server.dataDir);
    const store = new SqliteStore({ clock, path: databasePath(server.dataDir) });
    await store.start();
    try {
      const keys = await store.list('/registry/ownedaccesskeys/', { limit: 1 });
      const hasKeys = keys.kind !== 'page' || keys.records.length > 0;
      const { peppers, cipher } = await openSecrets(server.dataDir, random, hasKeys);
      const activity = new Activity(clock, activityStore(store), (error) =>
        log.error({ component: 'management', error: String(error) }, 'uses of keys not written down'),
      );
      const people = new People(store, clock, this.#settings);
      await people.start();
      const book = new KeyBook(store, (uid) => {
        activity.forget(uid);
        void store.writeSideValues(new Map([[activityPrefix + uid, undefined]])).catch(() => undefined);
      });
      await loadActivity(store, activity);
      await book.start();
      const world = (): KeyWorld => ({
        directory: people.directory,
        key: (name) => book.key(name),
        lastActivityMs: ({ record, times }) => activity.forExpiryMs(record.uid, times.ttl),
        subjectUid: (kind, name) => people.subjectUid(kind, name),
      });
      const callers = new Callers({ book, world, peppers, activity, clock });
      const limits = () => this.#settings.keys;
      const strategy = new KeyStrategy({ book, people, callers, activity, peppers, cipher, random, limits, clock });
      const key = keyKind({ strategy, callers, viewSince: () => people.viewSince });
      this.#parts = {
        store,
        activity,
        people,
        book,
        callers,
        key,
        rights: new Rights(callers, () => people.directory),
      };
      this.#parts.api = await this.#apiOf(this.#parts);
      this.#state = 'open';
    } catch (error) {
      await store.stop();
      throw error;
    }
  }

  async #apiOf(parts: Omit<OpenParts, 'api'>): Promise<ApiServer> {
    const { server, clock, log, version } = this.#options;
    const { host, port } = parseListen(server.listen) as { host: string; port: number };
    const { callers, rights, store, key } = parts;
    return new ApiServer({
      kinds: [key, instanceKind, namespaceKind, ...reviewKinds(rights).filter(({ kind }) => kind.startsWith('Self'))],
      schemas: managementSchemas,
      protobuf: managementProtobuf,
      dialect: 'strict',
      store,
      clock,
      log,
      authenticate: (request) =>
        this.#door?.cameThrough(request) === true ? callers.program : callers.authenticate(request),
      authorize: rights.authorize,
      tls: await this.#certificate(host),
      maxHeaderBytes,
      host,
      port,
      pathPrefix,
      version: versionOf(version),
      intercept: (_target, { method = 'GET', url = '/', headers }) => {
        const found = classify({ method, url, isUpgrade: headers.upgrade !== undefined });
        return found.kind === 'bad' ? { kind: 'answer', status: badRequest(found.message) } : { kind: 'pass' };
      },
      otherPaths: async (_target, _request, response) => {
        sendStatus(response, pathNotFound());
        return true;
      },
    });
  }

  async #certificate(host: string) {
    const { server, clock } = this.#options;
    const { tls } = this.#settings;
    if (tls !== undefined) return { files: tls };
    const now = clock.wallTime();
    const authority = await authorityIn(server.dataDir, 'hostward-management', now);
    this.#caPem = authority.certPem;
    const isEverywhere = host === '0.0.0.0' || host === '::';
    const names = new Set(['localhost', '127.0.0.1', new URL(server.baseURL).hostname.replace(/^\[|\]$/g, '')]);
    if (!isEverywhere) names.add(host);
    return makeServingCertificate('hostward-management', [...names], now, authority);
  }

  async serve(): Promise<void> {
    const { api } = this.#need();
    await api.start();
    this.#caretaker = new Caretaker(api.kit);
    await this.#caretaker.start();
    this.#checkStreams();
    await this.openDoor();
    this.#state = 'serving';
    this.#options.log.info({ component: 'management', url: api.url }, 'management API started');
  }

  /** For commands on this machine; a server that cannot have the door serves everybody else. */
  async openDoor(): Promise<void> {
    const { server, log } = this.#options;
    const path = doorPath(server.dataDir);
    if (isTooLong(path)) {
      log.warn(
        { component: 'management', path },
        'the path of dataDir is too long for a socket: use keys with --server',
      );
      return;
    }
    const { handler } = this.#need().api;
    this.#door = new LocalDoor({ folder: server.dataDir, handler, maxHeaderBytes });
    await this.#door.open();
  }

  #checkStreams(): void {
    const { api, callers } = this.#need();
    api.expireWatches((user) => !callers.isStill(user));
    this.#streamCheck = this.#options.clock.after(streamCheckMs, () => this.#checkStreams());
  }

  async close(): Promise<void> {
    const parts = this.#parts;
    if (parts === undefined) return;
    this.#state = 'closed';
    this.#parts = undefined;
    this.#streamCheck?.cancel();
    await this.#door?.close();
    await parts.api?.stop();
    await this.#caretaker?.stop();
    await parts.book.stop();
    await this.#keepUses(parts);
    await parts.store.stop();
  }

  async #keepUses({ activity, store }: OpenParts): Promise<void> {
    try {
      await activity.stop();
      await markWhole(store);
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'uses of keys not written down');
    }
  }

  /** Members, projects and limits count from the next request on. */
  async apply(settings: ManagementSettings): Promise<void> {
    this.#settings = settings;
    const { people, api, callers } = this.#need();
    await people.take(settings);
    api.expireWatches((user) => !callers.isStill(user));
  }

  /** Makes a key on this machine, as an administrator; the answer holds its value. */
  async createKey(submitted: object): Promise<KubeObject> {
    const { api, callers, key } = this.#need();
    const { kit } = api;
    const target = parseTarget('POST', `/apis/${key.group}/${key.version}/${key.plural}`);
    const user = callers.program;
    const negotiated = negotiate(undefined);
    const call = {
      kit,
      kind: key,
      target,
      user,
      visibility: undefined,
      negotiated,
      fieldManager: 'hostward',
      warnings: [],
    };
    const object = incomingObject(call, { value: submitted, duplicateFields: [] }, 'Strict');
    const outcome = await createObject(call, object, { dryRun: false });
    if (outcome.kind !== 'stored' || outcome.once === undefined)
      throw new Error('make a key: want the object with its value, there is none');
    return outcome.once;
  }

  /** For `hostward status` and the metrics. */
  status(): object {
    const { api, book } = this.#need();
    return { url: api.url, keys: book.size, watches: api.watchCount };
  }

  get url(): string {
    return this.#need().api.url;
  }

  get port(): number {
    return this.#need().api.port;
  }

  /** The own authority; empty when the certificate comes from files. */
  get caPem(): string {
    return this.#caPem;
  }

  get isServing(): boolean {
    return this.#state === 'serving';
  }

  #need(): OpenParts & { api: ApiServer } {
    const parts = this.#parts;
    if (parts?.api === undefined) throw new Error('use the management API: want it open, it is closed');
    return parts as OpenParts & { api: ApiServer };
  }
}

interface OpenParts {
  store: Store;
  activity: Activity;
  people: People;
  book: KeyBook;
  callers: Callers;
  rights: Rights;
  key: Kind;
  api?: ApiServer;
}

/** kubectl wants a semantic version. */
function versionOf(version: string) {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return { major, minor, gitVersion: `v${version}` };
}
