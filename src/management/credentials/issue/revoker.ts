// Ends client certificates: removes the rights of a certificate in the virtual cluster when its access key ends, is narrowed or
// loses its owner, or when its time is over. A failed removal is tried again, across restarts too, and appears in status and
// metrics.

import type { Timer } from '../../../clock.ts';
import { excerpt } from '../../../cluster/errors.ts';
import type { ManagementSettings } from '../../../config/settings/management-settings.ts';
import { isRecord } from '../../../object/text/json.ts';
import { backOffMs } from '../../../pace/back-off.ts';
import type { KeyWorld } from '../../keys/life/credential.ts';
import type { IssueBook } from '../certificates/issue-book.ts';
import { endOf, type IssueRecord } from '../certificates/issue-record.ts';
import { issueLabel, type ReachOptions, type VirtualCluster, withVirtualCluster } from './virtual-cluster.ts';

/** New requests end within 2 s, of which the removal itself takes some. */
const lookEveryMs = 400;
const retry = { firstMs: 1_000, mostMs: 60_000 };
/** A team that leaves may have hundreds of certificates, and a virtual cluster answers some requests at a time. */
const removalsAtOnce = 16;

interface Attempt {
  count: number;
  nextMs: number;
  trouble: string;
}

export interface WaitingRemoval {
  id: string;
  instance: string;
  attempts: number;
  trouble: string;
}

export class Revoker {
  readonly #book: IssueBook;
  readonly #world: KeyWorld;
  readonly #reach: ReachOptions;
  readonly #settings: () => ManagementSettings;
  readonly #attempts = new Map<string, Attempt>();
  readonly #running = new Map<string, Promise<void>>();
  /** Instances in which bindings without a record still have to be searched. */
  readonly #unswept = new Map<string, Attempt>();
  #timer: Timer | undefined;
  #isStopped = true;

  constructor(of: { book: IssueBook; world: KeyWorld; reach: ReachOptions; settings: () => ManagementSettings }) {
    this.#book = of.book;
    this.#world = of.world;
    this.#reach = of.reach;
    this.#settings = of.settings;
  }

  /** After a crash in the middle of issuing, the client never got the certificate, so its objects are removed. */
  start(): void {
    this.#isStopped = false;
    for (const record of this.#book.all()) if (record.state === 'beginning') this.end(record);
    for (const { name, virtualClusters } of this.#settings().projects)
      for (const instance of virtualClusters)
        if (instance.kubeconfig !== undefined && instance.ingress?.servedBy !== 'hostward')
          this.#unswept.set(`${name}/${instance.name}`, { count: 0, nextMs: 0, trouble: '' });
    this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all(this.#running.values());
  }

  /** Marks the certificate: its rights must be removed. */
  end(record: IssueRecord): void {
    if (!this.#attempts.has(record.id)) this.#attempts.set(record.id, { count: 0, nextMs: 0, trouble: '' });
    if (!this.#isStopped) this.#begin(record.id);
  }

  /** Valid certificates. */
  get live(): number {
    return this.#book.all().filter(({ state }) => state === 'live').length;
  }

  /** Rights that could not be removed yet. */
  waiting(): WaitingRemoval[] {
    return [...this.#attempts].flatMap(([id, { count, trouble }]) => {
      const record = this.#book.get(id);
      if (record === undefined) return [];
      return [{ id, instance: `${record.project}/${record.virtualCluster}`, attempts: count, trouble }];
    });
  }

  #look(): void {
    const { clock } = this.#reach;
    const [nowMs, wallMs] = [clock.now(), clock.wallTime().getTime()];
    for (const record of this.#book.all()) {
      if (record.state === 'beginning' || this.#running.has(record.id)) continue;
      const why = record.state === 'ending' ? 'its removal did not succeed before' : endOf(record, this.#world, wallMs);
      if (why !== undefined && !this.#attempts.has(record.id)) this.end(record);
    }
    for (const [id, { nextMs }] of this.#attempts) if (nowMs >= nextMs) this.#begin(id);
    for (const [instance, { nextMs }] of this.#unswept) if (nowMs >= nextMs) this.#sweep(instance);
    this.#timer = clock.after(lookEveryMs, () => this.#look());
  }

  #begin(id: string): void {
    if (this.#running.has(id) || this.#running.size >= removalsAtOnce) return;
    const run = this.#remove(id).finally(() => this.#running.delete(id));
    this.#running.set(id, run);
  }

  async #remove(id: string): Promise<void> {
    const record = this.#book.get(id);
    if (record === undefined) return void this.#attempts.delete(id);
    const trouble = await this.#removed(record).catch((error: unknown) => String(error));
    if (trouble === undefined) return void this.#attempts.delete(id);
    const attempt = this.#attempts.get(id) ?? { count: 0, nextMs: 0, trouble };
    const { clock, log } = this.#reach;
    this.#attempts.set(id, later(attempt, trouble, clock.now()));
    const instance = `${record.project}/${record.virtualCluster}`;
    log.warn(
      { component: 'management', issue: id, instance, trouble },
      'rights of a client certificate not removed yet',
    );
  }

  /** Undefined = everything is removed; otherwise the reason why not. */
  async #removed(record: IssueRecord): Promise<string | undefined> {
    const current: IssueRecord = { ...record, state: 'ending' };
    if (record.state !== 'ending') await this.#book.put(current);
    const { id } = record;
    if (record.by === 'binding') {
      const isUnfinished = record.state === 'beginning' || record.serial === '';
      const trouble = await this.#unbound(current, isUnfinished);
      if (trouble !== undefined) return trouble;
    }
    await this.#book.remove(current);
    this.#reach.log.info({ component: 'management', issue: id }, 'client certificate ended');
    return undefined;
  }

  async #unbound({ id, kubeconfig, ...at }: IssueRecord, isUnfinished: boolean): Promise<string | undefined> {
    // The kubeconfig may have moved since; then the present configuration names its place.
    const project = this.#settings().projects.find(({ name }) => name === at.project);
    const configured = project?.virtualClusters.find(({ name }) => name === at.virtualCluster)?.kubeconfig;
    const reached = await withVirtualCluster(configured ?? kubeconfig, this.#reach, async (cluster) => {
      if (isUnfinished) await cluster.deleteRequest(id);
      return cluster.deleteBinding(id);
    });
    if (reached.kind === 'faults') return reached.faults.join('; ');
    const answer = reached.value;
    if (answer.kind === 'ok' || answer.kind === 'notFound') return undefined;
    return 'message' in answer ? answer.message : answer.reason;
  }

  #sweep(instance: string): void {
    const key = `sweep ${instance}`;
    if (this.#running.has(key)) return;
    const run = this.#swept(instance)
      .catch((error: unknown) => String(error))
      .then((trouble) => {
        if (trouble === undefined) return void this.#unswept.delete(instance);
        const attempt = this.#unswept.get(instance) ?? { count: 0, nextMs: 0, trouble };
        const { clock, log } = this.#reach;
        if (attempt.count === 0)
          log.info(
            { component: 'management', instance, trouble },
            'bindings of former certificates not looked for yet',
          );
        this.#unswept.set(instance, later(attempt, trouble, clock.now()));
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, run);
  }

  /** Bindings of ours that no record knows, as after a restore from an old backup. */
  async #swept(instance: string): Promise<string | undefined> {
    const [project = '', name = ''] = instance.split('/');
    const settings = this.#settings().projects.find((one) => one.name === project);
    const kubeconfig = settings?.virtualClusters.find((one) => one.name === name)?.kubeconfig;
    if (kubeconfig === undefined) return undefined;
    const reached = await withVirtualCluster(kubeconfig, this.#reach, async (cluster) => {
      for (;;) {
        const answer = await cluster.bindings(this.#book.issuer);
        // Without the right to list bindings, Hostward never had the right to make one.
        if (answer.kind === 'forbidden' || answer.kind === 'notFound') return '';
        if (answer.kind !== 'ok') return 'message' in answer ? answer.message : answer.reason;
        const { kind, items: listed } = answer.object;
        if (kind !== 'ClusterRoleBindingList' || !Array.isArray(listed))
          return `wanted a ClusterRoleBindingList with items, found ${excerpt(String(kind), 60)}`;
        const items = listed.filter(isRecord);
        const unknown = items.map(issueIn).filter((id) => id !== '' && this.#book.get(id) === undefined);
        if (unknown.length === 0) return '';
        const failed = await deleteAll(cluster, unknown);
        if (failed !== undefined) return failed;
      }
    });
    if (reached.kind === 'faults') return reached.faults.join('; ');
    return reached.value === '' ? undefined : reached.value;
  }
}

async function deleteAll(cluster: VirtualCluster, ids: readonly string[]): Promise<string | undefined> {
  for (const id of ids) {
    const answer = await cluster.deleteBinding(id);
    if (answer.kind !== 'ok' && answer.kind !== 'notFound') return 'message' in answer ? answer.message : answer.reason;
  }
  return undefined;
}

function issueIn({ metadata }: Record<string, unknown>): string {
  const labels = isRecord(metadata) && isRecord(metadata['labels']) ? metadata['labels'] : {};
  return String(labels[issueLabel] ?? '');
}

function later({ count }: Attempt, trouble: string, nowMs: number): Attempt {
  return { count: count + 1, nextMs: nowMs + backOffMs(count + 1, retry), trouble };
}
