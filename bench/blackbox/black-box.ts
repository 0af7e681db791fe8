// The run: one object first, to see that anybody copies; then all of them, then the changes, then a count of what is missing and wrong. Whatever
// happens, the namespaces go at the end.
import type { Wanted } from './arguments.ts';
import { Arrivals, until } from './arrivals.ts';
import type { Cluster, KubeObject } from './cluster.ts';
import { Copies, Times } from './copies.ts';
import { EnvironmentFault } from './fault.ts';
import { Histogram } from './histogram.ts';
import { Load, type Place, placesOf, trafficOf } from './load.ts';
import { type Readings, readingsOf } from './process-readings.ts';
import { loadNow, type Point, type Result, rounded, spreadOf, surroundings } from './result.ts';
import { VirtualSide } from './virtual-side.ts';

interface Options {
  wanted: Wanted;
  virtual: Cluster;
  host: Cluster;
  /** A word of its own for each run, and a number that goes into addresses. */
  run: { word: string; number: number };
  progress: (sentence: string) => void;
  signal: AbortSignal;
}

const pollMs = 20;
const tellEveryMs = 2_000;
const sampleMs = 1_000;
/** A syncer takes its copies away some seconds after the objects, a slow one for minutes: what stays when none goes any more is left behind. */
const goneWithinMs = 10_000;

export class BlackBox {
  #wanted: Wanted;
  #virtual: Cluster;
  #host: Cluster;
  #side: VirtualSide;
  #load: Load;
  #copies: Copies;
  #places: Place[];
  #probe: Place;
  #versions: number[];
  #progress: (sentence: string) => void;
  #signal: AbortSignal;
  #broken: Error | undefined;
  #peak: Readings = { cpuMs: 0, rssMib: 0 };
  #memory: [number, number][] = [];
  /** What is on its way to the virtual side, and what stops it when the run has ended early. */
  #making: Promise<unknown> = Promise.resolve();
  #ended = new AbortController();

  constructor({ wanted, virtual, host, run, progress, signal }: Options) {
    this.#wanted = wanted;
    this.#virtual = virtual;
    this.#host = host;
    this.#load = new Load({ kind: wanted.kind, runNumber: run.number, addresses: wanted.addresses });
    this.#side = new VirtualSide(virtual, this.#load);
    this.#copies = new Copies(this.#load);
    // One more than wanted: the probe, which is in a namespace with others.
    const places = placesOf(run.word, wanted.objects + 1);
    this.#probe = places.pop() as Place;
    this.#places = places;
    this.#versions = places.map(() => 0);
    this.#progress = progress;
    this.#signal = signal;
  }

  async run(): Promise<Result> {
    const { pid } = this.#wanted;
    const atStart = loadNow();
    const before = pid === undefined ? undefined : readingsOf(pid);
    const startMs = performance.now();
    const sampling = setInterval(() => this.#sample(startMs), sampleMs);
    try {
      await this.#lookAtHost();
      await this.#probeOnce();
      const firstSync = await this.#firstSync();
      const points: Point[] = [];
      if (this.#wanted.isBurst) points.push(await this.#burst());
      else for (const rate of this.#wanted.rates) points.push(await this.#atRate(rate));
      const found = await this.#compare();
      const cpuMs = before === undefined ? 0 : readingsOf(pid as number).cpuMs - before.cpuMs;
      const left = await this.#clear();
      const { objects, rates, seconds, isBurst, kind, addresses, vclusterName } = this.#wanted;
      const last = points.at(-1) as Point;
      const { rate: _rate, seconds: _seconds, ...figures } = last;
      return {
        question: 'blackbox',
        ...surroundings(),
        load: { atStart, atEnd: loadNow() },
        wanted: { objects, rates, seconds, isBurst, kind, addresses, vclusterName },
        ...figures,
        ...found,
        left,
        firstSync,
        points,
        memory: this.#memory,
        ...(pid !== undefined && {
          process: {
            pid,
            rssMib: rounded(this.#memory.at(-1)?.[1] ?? Number.NaN, 1),
            peakMib: rounded(this.#peak.rssMib, 1),
            cpuMs: rounded(cpuMs),
          },
        }),
      };
    } finally {
      clearInterval(sampling);
    }
  }

  /** Says what stays. */
  async cleanUp(): Promise<string[]> {
    this.#ended.abort();
    await this.#making;
    return this.#side.clear();
  }

  async #lookAtHost(): Promise<void> {
    const { hostNamespace, kind } = this.#wanted;
    const answer = await this.#host.send({
      method: 'GET',
      path: `/api/v1/namespaces/${encodeURIComponent(hostNamespace)}`,
    });
    if (answer.status === 404) throw new EnvironmentFault(`the host has no namespace "${hostNamespace}"`);
    if (answer.status === 401) throw new EnvironmentFault(this.#host.sentence(answer, 'read namespaces'));
    const path = this.#load.pathIn(hostNamespace);
    const { revision } = await this.#host.list(path, `list ${kind} in ${hostNamespace}`);
    this.#host.watch(
      path,
      revision,
      (event) => this.#copies.hostEvent(event),
      (error) => {
        this.#broken = error;
      },
    );
  }

  async #probeOnce(): Promise<void> {
    const { kind, hostNamespace, vclusterName, waitMs } = this.#wanted;
    const { namespace } = this.#probe;
    await this.#side.makeNamespaces([namespace]);
    await this.#side.makeServices([this.#probe], this.#signal);
    await this.#side.makeObjects([this.#probe], this.#signal);
    const isThere = await this.#wait(waitMs, () => this.#copies.shows(this.#probe.index), `waits for a first copy`);
    if (isThere) return;
    throw new EnvironmentFault(
      `no copy of the ${kind} ${namespace}/${this.#probe.name} came to the host namespace "${hostNamespace}" within ${waitMs / 1000} s: no syncer of "${vclusterName}" copies ${kind} there`,
    );
  }

  async #firstSync(): Promise<Result['firstSync']> {
    const { objects, waitMs, kind } = this.#wanted;
    await this.#side.makeNamespaces(this.#places.map(({ namespace }) => namespace));
    this.#progress(`makes ${objects} Services`);
    await this.#side.makeServices(this.#places, this.#signal);
    for (const namespace of this.#side.namespaces) await this.#watchVirtual(namespace);
    this.#progress(`makes ${objects} ${kind}`);
    this.#copies.firstCopyMs = Number.NaN;
    const startMs = performance.now();
    let madeMs = Number.NaN;
    const stopped = AbortSignal.any([this.#signal, this.#ended.signal]);
    const made = this.#side.makeObjects(this.#places, stopped).then(() => {
      madeMs = performance.now();
    });
    // Looked at below; without this an early end would count as unheard.
    this.#making = made.catch(() => undefined);
    const all = objects + 1;
    let [shown, lastMs] = [0, performance.now()];
    await this.#wait(
      Number.POSITIVE_INFINITY,
      () => {
        if (this.#copies.shownCount > shown) [shown, lastMs] = [this.#copies.shownCount, performance.now()];
        return shown >= all || performance.now() - lastMs > waitMs;
      },
      () => `${shown - 1} of ${objects} copies`,
    );
    await made;
    const seconds = (this.#copies.lastCopyMs - startMs) / 1000;
    return {
      seconds: rounded(seconds),
      perSecond: rounded(objects / seconds),
      rawSeconds: rounded((madeMs - startMs) / 1000),
      firstCopyMs: rounded(this.#copies.firstCopyMs - startMs),
    };
  }

  async #watchVirtual(namespace: string): Promise<void> {
    const path = this.#load.pathIn(namespace);
    const { revision } = await this.#virtual.list(path, `list ${this.#wanted.kind}`);
    this.#virtual.watch(
      path,
      revision,
      (event) => this.#copies.virtualEvent(event),
      (error) => {
        this.#broken = error;
      },
    );
  }

  async #atRate(rate: number): Promise<Point> {
    const { seconds } = this.#wanted;
    const count = Math.round(rate * seconds);
    return this.#phase({ rate }, async (change) => {
      const startMs = performance.now();
      const arrivals = new Arrivals({ startMs, perSecond: rate });
      let toldMs = startMs;
      for (let nth = 0; nth < count; nth++) {
        const dueMs = arrivals.next();
        await until(dueMs);
        this.#mustGoOn();
        void change(nth % this.#places.length, dueMs);
        if (performance.now() - toldMs < tellEveryMs) continue;
        toldMs = performance.now();
        this.#progress(`${nth + 1} of ${count} changes at ${rate} a second, ${this.#copies.pendingCount} copies due`);
      }
    });
  }

  async #burst(): Promise<Point> {
    return this.#phase({}, async (change) => {
      const startMs = performance.now();
      await Promise.all(this.#places.map((_, index) => change(index, startMs)));
    });
  }

  async #phase(
    about: { rate?: number },
    load: (change: (index: number, dueMs: number) => Promise<void>) => Promise<void>,
  ): Promise<Point> {
    const { pid, waitMs } = this.#wanted;
    const copies = this.#copies;
    const [times, answers] = [new Times(), new Histogram()];
    copies.times = times;
    copies.writes = 0;
    const before = pid === undefined ? 0 : readingsOf(pid).cpuMs;
    const startMs = performance.now();
    let [changes, failed] = [0, 0];
    const open = new Set<Promise<void>>();
    await load((index, dueMs) => {
      const version = (this.#versions[index] ?? 0) + 1;
      this.#versions[index] = version;
      copies.due(index, version, dueMs);
      const done = this.#side.change(this.#places[index] as Place, version).then(
        (refusal) => {
          answers.record(performance.now() - dueMs);
          if (refusal === undefined) changes++;
          else {
            if (failed++ === 0) this.#progress(refusal);
            copies.refused(index, version);
          }
        },
        (error: Error) => {
          this.#broken ??= error;
        },
      );
      open.add(done);
      void done.finally(() => open.delete(done));
      return done;
    });
    await Promise.all(open);
    const seconds = (performance.now() - startMs) / 1000;
    let [due, lastMs] = [copies.pendingCount, performance.now()];
    await this.#wait(
      Number.POSITIVE_INFINITY,
      () => {
        if (copies.pendingCount < due) [due, lastMs] = [copies.pendingCount, performance.now()];
        return due === 0 || performance.now() - lastMs > waitMs;
      },
      () => `${copies.pendingCount} copies due`,
    );
    const unseen = copies.forgetPending();
    // A write too many comes behind the one that was waited for.
    await new Promise((resolve) => setTimeout(resolve, sampleMs));
    return {
      ...about,
      changes,
      seconds: rounded(seconds),
      ...spreadOf(times.sinceDue),
      eventToCopy: spreadOf(times.sinceEvent),
      answer: spreadOf(answers),
      failed,
      unseen,
      writesPerChange: rounded(copies.writes / changes, 3),
      ...(pid !== undefined && { cpuMsPerChange: rounded((readingsOf(pid).cpuMs - before) / changes, 3) }),
    };
  }

  /** What the virtual API server holds now is what the host must show. */
  async #compare(): Promise<{ missing: number; wrong: number; extra: number }> {
    const copies = Map.groupBy(await this.#hostCopies(), (object) => this.#load.markOf(object)?.index as number);
    const found = { missing: 0, wrong: 0, extra: 0 };
    for (const object of await this.#side.objects()) {
      const mark = this.#load.markOf(object);
      if (mark === undefined) continue;
      const [copy, ...more] = copies.get(mark.index) ?? [];
      copies.delete(mark.index);
      if (copy === undefined) found.missing++;
      else if (trafficOf(copy) !== trafficOf(object)) found.wrong++;
      found.extra += more.length;
    }
    for (const stray of copies.values()) found.extra += stray.length;
    return found;
  }

  async #hostCopies(): Promise<KubeObject[]> {
    const { hostNamespace, kind } = this.#wanted;
    const { items } = await this.#host.list(this.#load.pathIn(hostNamespace), `list ${kind}`);
    return items.filter((object) => this.#load.markOf(object) !== undefined);
  }

  async #clear(): Promise<number> {
    this.#progress('removes its namespaces');
    const stays = await this.cleanUp();
    for (const sentence of stays) this.#progress(sentence);
    this.#side.namespaces.clear();
    let [shown, lastMs] = [this.#copies.shownCount, performance.now()];
    await this.#wait(
      Number.POSITIVE_INFINITY,
      () => {
        if (this.#copies.shownCount < shown) [shown, lastMs] = [this.#copies.shownCount, performance.now()];
        return shown === 0 || performance.now() - lastMs > goneWithinMs;
      },
      () => `${shown} copies are still on the host`,
    );
    return shown === 0 ? 0 : (await this.#hostCopies()).length;
  }

  #sample(startMs: number): void {
    const { pid } = this.#wanted;
    if (pid === undefined) return;
    try {
      const readings = readingsOf(pid);
      if (readings.rssMib > this.#peak.rssMib) this.#peak = readings;
      this.#memory.push([rounded((performance.now() - startMs) / 1000, 1), rounded(readings.rssMib, 1)]);
    } catch (error) {
      this.#broken ??= error as Error;
    }
  }

  #mustGoOn(): void {
    this.#signal.throwIfAborted();
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Whether it became true in time. */
  async #wait(withinMs: number, isTrue: () => boolean, sentence: string | (() => string)): Promise<boolean> {
    const startMs = performance.now();
    for (let toldMs = startMs; ; ) {
      this.#mustGoOn();
      if (isTrue()) return true;
      const nowMs = performance.now();
      if (nowMs - startMs > withinMs) return false;
      if (nowMs - toldMs > tellEveryMs) {
        toldMs = nowMs;
        this.#progress(typeof sentence === 'string' ? sentence : sentence());
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }
}
