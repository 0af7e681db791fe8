// Keeps a record in the store for every name in the configuration, with a uid, and for every virtual cluster an instance that
// clients read and watch. In: a store and the settings. Out: the directory and the present uid of a name.
import { createHash, randomUUID } from 'node:crypto';
import type { Kind } from '../../../apiserver/kinds/kind.ts';
import { timestamp } from '../../../apiserver/meta/object-meta.ts';
import { storageKey, storagePrefix, toStoredText } from '../../../apiserver/wire/stored-text.ts';
import type { Clock } from '../../../clock.ts';
import {
  builtInAdministrator,
  type ManagementProject,
  type ManagementSettings,
} from '../../../config/settings/management-settings.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Follower, Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';
import { Directory, type SubjectKind } from '../../scope/directory.ts';
import { namespaceOfProject } from '../../scope/request.ts';
import { instanceKind, namespaceKind } from './configured-kinds.ts';
import {
  changedRecords,
  currentUid,
  type NamedRecord,
  namesOf,
  type Reattached,
  reattach,
  recordKey,
} from './records.ts';

export const recordsPrefix = '/management/records/';
const viewKey = '/management/view';

export class UserDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  #directory: Directory;
  #records = new Map<string, NamedRecord>();
  /** By key of the store: the revision at which this process knows the record. */
  readonly #revisions = new Map<string, number>();
  #view = '';
  #viewSince = 0;
  readonly #followed: Follower;

  constructor(parts: { store: Store; followers: Followers; clock: Clock }, settings: ManagementSettings) {
    const { store, followers, clock } = parts;
    this.#store = store;
    // Another replica may give a name its uid, or take a name away.
    this.#followed = followers.of({
      prefix: recordsPrefix,
      what: 'names',
      found: ({ key, value, revision }) => this.#heard(key, value, revision),
      changed: ({ type, key, value, revision }) => {
        if (type === 'put') this.#heard(key, value, revision);
      },
    });
    this.#clock = clock;
    this.#directory = new Directory(settings);
  }

  get directory(): Directory {
    return this.#directory;
  }

  /** A list at an older revision may show objects that callers must not see now. */
  get viewSince(): number {
    return this.#viewSince;
  }

  async start(): Promise<void> {
    await this.#followed.open();
    await this.take(this.#directory.settings);
    this.#followed.follow();
  }

  async stop(): Promise<void> {
    await this.#followed.stop();
  }

  #heard(key: string, value: string, revision: number): void {
    // Own writes are known before they are heard.
    if (revision <= (this.#revisions.get(key) ?? 0)) return;
    const record = JSON.parse(value) as NamedRecord;
    this.#revisions.set(key, revision);
    this.#records.set(recordKey(record), record);
  }

  /** Removed names are suspended first, so that no request sees a half-removed name. */
  async take(settings: ManagementSettings): Promise<void> {
    this.#directory = new Directory(settings);
    const view = viewOf(settings);
    // Until the new view has its revision, no older list or watch goes on.
    if (view !== this.#view) this.#viewSince = Number.POSITIVE_INFINITY;
    this.#view = view;
    const nowMs = this.#clock.wallTime().getTime();
    const changed = changedRecords(this.#records, namesOf(this.#directory), { nowMs, newUid: randomUUID });
    // All in one turn: no request sees a name that is gone. A name that is new or back has no uid until the store has it, because
    // another replica may give it one at the same time.
    for (const record of changed) if (record.removedMs !== undefined) this.#records.set(recordKey(record), record);
    await this.#noteView(view);
    for (const record of changed) await this.#put(record);
    await this.#publish(instanceKind, this.#instances());
    await this.#publish(namespaceKind, this.#namespaces());
  }

  /** Whether the records are those of the settings: a replica that did not know the newest ones may have changed some. */
  get isSettled(): boolean {
    const nowMs = this.#clock.wallTime().getTime();
    return changedRecords(this.#records, namesOf(this.#directory), { nowMs, newUid: () => '' }).length === 0;
  }

  subjectUid(kind: SubjectKind, name: string): string | undefined {
    // Subjects are in no configuration, so the name cannot go to another subject.
    return kind === 'subject' ? `subject:${name}` : this.#uidOf(kind, name);
  }

  instanceUid(project: string, name: string): string | undefined {
    return this.#uidOf('virtualCluster', `${project}/${name}`);
  }

  #uidOf(kind: NamedRecord['kind'], name: string): string | undefined {
    return currentUid(this.#records.get(recordKey({ kind, name })));
  }

  record(kind: NamedRecord['kind'], name: string): NamedRecord | undefined {
    return this.#records.get(recordKey({ kind, name }));
  }

  /** Gives the name its former uid again. Keys that were made for the name since then become invalid. */
  async reattach(kind: NamedRecord['kind'], name: string, uid: string): Promise<Reattached> {
    const record = this.record(kind, name);
    if (record === undefined) return { ok: false, message: `there never was a ${kind} ${name}` };
    const result = reattach(record, uid, this.#clock.wallTime().getTime());
    if (!result.ok) return result;
    if (!(await this.#put(result.record)))
      return { ok: false, message: `${kind} ${name} was changed in the meantime: try again` };
    // The published object must carry the new uid.
    await this.take(this.#directory.settings);
    return result;
  }

  /** When two replicas see a new name at the same time, one chooses its uid and the other takes over that uid. */
  async #put(record: NamedRecord): Promise<boolean> {
    const key = `${recordsPrefix}${record.kind}/${record.name}`;
    const written = await this.#store.write(key, {
      expect: this.#revisions.get(key) ?? 0,
      value: JSON.stringify(record),
    });
    if (written.ok) {
      this.#revisions.set(key, written.revision);
      this.#records.set(recordKey(record), record);
    } else if (written.current !== undefined) this.#heard(key, written.current.value, written.current.revision);
    return written.ok;
  }

  /** A new view raises the revision: without a write, the newest list of the old view would count as one of the new view. */
  async #noteView(view: string): Promise<void> {
    const { record } = await this.#store.get(viewKey);
    if (record !== undefined && (JSON.parse(record.value) as { view: string }).view === view) {
      this.#viewSince = record.revision;
      return;
    }
    try {
      const written = await this.#store.write(viewKey, { expect: undefined, value: JSON.stringify({ view }) });
      this.#viewSince = written.revision;
    } catch (error) {
      // Nobody knows whether the write was done, so the old view ends with the next write of any record.
      this.#viewSince = (await this.#store.currentRevision()) + 1;
      throw error;
    }
  }

  #instances(): KubeObject[] {
    return this.#directory.settings.projects.flatMap((project) =>
      project.virtualClusters.map(({ name, ingress }) => {
        const spec: Record<string, unknown> = { project: project.name };
        if (ingress !== undefined) spec['ingress'] = { server: ingress.server, servedBy: ingress.servedBy };
        const place = { name, namespace: namespaceOfProject(project.name) };
        return { metadata: this.#metadata(place, 'virtualCluster', `${project.name}/${name}`), spec };
      }),
    );
  }

  #namespaces(): KubeObject[] {
    const namespaceOf = (project: ManagementProject) =>
      this.#metadata({ name: namespaceOfProject(project.name) }, 'project', project.name);
    // As old as the first name of all.
    const first = this.#records.get(recordKey({ kind: 'user', name: builtInAdministrator }));
    const none = {
      name: 'default',
      uid: 'default',
      creationTimestamp: timestamp(new Date(first?.firstSeenMs ?? 0)),
      generation: 1,
    };
    return [none, ...this.#directory.settings.projects.map(namespaceOf)].map((metadata) => ({
      metadata,
      spec: {},
      status: { phase: 'Active' },
    }));
  }

  #metadata(
    place: { name: string; namespace?: string },
    kind: NamedRecord['kind'],
    name: string,
  ): KubeObject['metadata'] {
    const record = this.#records.get(recordKey({ kind, name }));
    const creationTimestamp = timestamp(new Date(record?.firstSeenMs ?? 0));
    return { ...place, uid: record?.uid ?? '', creationTimestamp, generation: 1 };
  }

  async #publish(kind: Kind, objects: readonly KubeObject[]): Promise<void> {
    const wanted = new Map(
      objects.map((object) => [
        storageKey(kind, object.metadata.namespace ?? '', object.metadata.name ?? ''),
        toStoredText(object),
      ]),
    );
    const page = await this.#store.list(storagePrefix(kind, ''));
    const there = new Map(page.kind === 'page' ? page.records.map((record) => [record.key, record]) : []);
    // What another replica has changed in the meantime, it has changed to the same.
    for (const [key, { value, revision }] of there) {
      // An object of another uid is another object: it goes before the new one comes.
      const isSame = wanted.has(key) && uidIn(wanted.get(key) as string) === uidIn(value);
      if (isSame) continue;
      await this.#store.write(key, { expect: revision, value: undefined });
      there.delete(key);
    }
    for (const [key, value] of wanted) {
      const known = there.get(key);
      if (known?.value !== value) await this.#store.write(key, { expect: known?.revision ?? 0, value });
    }
  }
}

/** Everything in the configuration that decides what somebody sees. */
function viewOf({ administrators, users, teams, projects }: ManagementSettings): string {
  const members = projects.map((project) => [project.name, project.members]);
  return createHash('sha256')
    .update(JSON.stringify([administrators, users, teams, members]))
    .digest('hex');
}

function uidIn(text: string): string | undefined {
  return (JSON.parse(text) as KubeObject).metadata.uid;
}
