// One run: two API servers, a fault proxy in front of each, daemons, people, and a clock that only the run moves. In: a scenario and
// meddlers. Out: everything that was seen, for the oracles. It decides nothing about right and wrong.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubeconfigText } from '../../../src/apiserver/tls/kubeconfig.ts';
import { FaultProxy, type OpenWatch, type ProxyEars } from '../proxy/fault-proxy.ts';
import type { Passing, WatchedLine } from '../proxy/passing.ts';
import { loadModulesBefore, readFilesAsBefore, readFilesAtOnce } from '../stage/prompt-files.ts';
import { type RigCertificates, rigCertificates } from '../stage/rig-certificates.ts';
import { RigClock } from '../stage/rig-clock.ts';
import { RigCluster, type RigSide, rigSides } from '../stage/rig-cluster.ts';
import { RigDaemon } from '../stage/rig-daemon.ts';
import { countNoTurns, countTurns, Stillness } from '../stage/stillness.ts';
import { type Act, hostNamespace, type Scenario, virtualCluster } from '../traffic/acts.ts';
import { People } from '../traffic/play.ts';
import { Chance } from './random.ts';

export interface WorldEars {
  passed?(passing: Passing): void;
  answered?(passing: Passing, status: number, body: string): void;
  given?(passing: Passing, status: number, text: string): void;
  madeUp?(passing: Passing, status: number, headers: Readonly<Record<string, string>>): void;
  opened?(passing: Passing): void;
  event?(watch: OpenWatch, line: WatchedLine): void;
  delivered?(watch: OpenWatch, line: WatchedLine): void;
  acted?(act: Act): void;
  /** Called between two timers, when nothing is left to do. */
  still?(): void;
  calm?(act: Extract<Act, { do: 'calm' }>): Promise<void>;
}

/** A start finds two servers that answer, so a daemon that is not ready by then waits for something that a fault took away. */
const startWithinMs = 5_000;

export class World {
  readonly clock = new RigClock();
  readonly clusters: Readonly<Record<RigSide, RigCluster>>;
  readonly proxies: Readonly<Record<RigSide, FaultProxy>>;
  /** By position; a restarted one has a new name. */
  readonly daemons: RigDaemon[] = [];
  /** Those that are gone, too. */
  readonly everyDaemon: RigDaemon[] = [];
  readonly people: People;
  readonly ears: WorldEars[] = [];
  readonly scenario: Scenario;
  readonly seed: number;
  /** The configuration in force, and since when. */
  readonly configurations: { configuration: object; sinceMs: number }[] = [];
  /** Daemons that did not end in time after SIGTERM. */
  readonly overdue: string[] = [];
  /** Times in which no daemon ran. */
  readonly absences: { fromMs: number; toMs: number }[] = [];
  /** What the kubeconfigs name, where a run has TLS. */
  readonly authorities: Record<RigSide, string> = { virtual: '', host: '' };
  #certificates: Readonly<Record<RigSide, RigCertificates>> | undefined;
  readonly hostnames: Record<RigSide, string> = { virtual: 'virtual.rig', host: 'host.rig' };
  /** Nothing is ever set back behind these. */
  readonly preparedRevision: Record<RigSide, number> = { virtual: 0, host: 0 };
  readonly #onAnswer = new Map<string, () => void>();
  #afterStill: (() => void)[] = [];
  #emptySinceMs: number | undefined;
  #coin: Chance | undefined;
  #starting = 0;
  readonly #stillness: Stillness;
  readonly #chance: Chance;
  readonly #folder = mkdtempSync(join(tmpdir(), 'hostward-rig-'));
  readonly #tokens = new Map<string, string>();

  constructor(scenario: Scenario, seed: number) {
    this.scenario = scenario;
    this.seed = seed;
    this.#chance = new Chance(seed, 'daemon');
    const chance = new Chance(seed, 'servers');
    for (let nth = 0; nth < mostDaemons; nth++) this.#tokens.set(`hostward-${nth}`, `rig-token-of-hostward-${nth}`);
    this.#stillness = new Stillness({ isTls: scenario.isTls === true });
    const { note } = this.#stillness;
    const cluster = (side: RigSide): RigCluster =>
      new RigCluster({ side, clock: this.clock, chance, note, daemons: this.#tokens });
    this.clusters = { virtual: cluster('virtual'), host: cluster('host') };
    const proxy = (side: RigSide): FaultProxy =>
      new FaultProxy({
        ...{ cluster: this.clusters[side], clock: this.clock, note, ears: this.#proxyEars() },
        ...(scenario.watchLagMs !== undefined && { watchLagMs: scenario.watchLagMs }),
        ...(scenario.pageItems !== undefined && { pageItems: scenario.pageItems }),
      });
    this.proxies = { virtual: proxy('virtual'), host: proxy('host') };
    this.people = new People(this.clusters, scenario);
  }

  #proxyEars(): ProxyEars {
    const tell = (say: (ears: WorldEars) => void): void => {
      for (const one of this.ears) say(one);
    };
    return {
      passed: (passing) => tell((one) => one.passed?.(passing)),
      answered: (passing, status, body) => {
        this.#onAnswer.get(`${passing.side} ${passing.id}`)?.();
        tell((one) => one.answered?.(passing, status, body));
      },
      given: (passing, status, text) => tell((one) => one.given?.(passing, status, text)),
      madeUp: (passing, status, headers) => tell((one) => one.madeUp?.(passing, status, headers)),
      opened: (passing) => tell((one) => one.opened?.(passing)),
      event: (watch, line) => tell((one) => one.event?.(watch, line)),
      delivered: (watch, line) => tell((one) => one.delivered?.(watch, line)),
      isAlive: (name) => this.everyDaemon.find((one) => one.name === name)?.isAlive === true,
    };
  }

  /** Everything that is there before a daemon starts. */
  async prepare(): Promise<void> {
    await loadModulesBefore();
    if (this.scenario.isTls === true) this.#certificates = await rigCertificates();
    readFilesAtOnce();
    countTurns();
    for (const side of rigSides) this.showCertificate(side, 'good');
    for (const side of rigSides) this.nameAuthority(side, 'good');
    for (const side of rigSides) await this.clusters[side].start();
    await this.people.prepare();
    for (const act of this.scenario.before) await this.act(act);
    const [configuration] = this.scenario.configurations;
    this.configurations.push({ configuration: configuration as object, sinceMs: this.clock.now() });
    await this.#stillness.wait();
    for (const side of rigSides) this.preparedRevision[side] = this.clusters[side].store.revision;
  }

  async begin(): Promise<void> {
    for (let nth = 0; nth < this.scenario.daemons; nth++) this.startDaemon(nth);
    await this.until(() => this.daemons.every((one) => one.isReady), startWithinMs);
  }

  get configuration(): object {
    return this.configurations.at(-1)?.configuration as object;
  }

  /** One process has one place: a crash during SIGTERM, or a kill while a start is due, brings no second one. */
  startDaemon(position: number): RigDaemon {
    const standing = this.daemons[position];
    if (standing?.isAlive === true) return standing;
    if (this.#emptySinceMs !== undefined && !this.daemons.some(({ isAlive }) => isAlive))
      this.absences.push({ fromMs: this.#emptySinceMs, toMs: this.clock.now() });
    this.#emptySinceMs = undefined;
    const name = `hostward-${this.everyDaemon.length}`;
    if (!this.#tokens.has(name)) throw new Error(`start a daemon: wanted at most ${mostDaemons} in a run, found more`);
    const daemon = new RigDaemon({
      name,
      clock: this.clock,
      chance: this.#chance,
      proxies: this.proxies,
      kubeconfigs: { virtual: this.#kubeconfig('virtual', name), host: this.#kubeconfig('host', name) },
      configuration: this.configuration,
      virtualCluster,
      hostNamespace,
      sandboxMs: this.scenario.sandboxMs,
      ended: () => this.crash(name, backOffMs),
    });
    this.daemons[position] = daemon;
    this.everyDaemon.push(daemon);
    daemon.begin();
    return daemon;
  }

  #kubeconfig(side: RigSide, daemon: string): string {
    const path = join(this.#folder, `${side}-${daemon}`);
    const token = this.#tokens.get(daemon) ?? '';
    const url = `${this.#certificates === undefined ? 'http' : 'https'}://${this.hostnames[side]}`;
    const caPem = this.authorities[side];
    writeFileSync(path, kubeconfigText({ name: side, url, caPem, token, user: daemon }), { mode: 0o600 });
    return path;
  }

  get hasTls(): boolean {
    return this.#certificates !== undefined;
  }

  /** Whether whoever heeds the kubeconfigs may speak to the server. */
  isTrusted(side: RigSide): boolean {
    const { certificate } = this.proxies[side];
    const { good, otherCa }: Partial<RigCertificates> = this.#certificates?.[side] ?? {};
    return (
      certificate === undefined ||
      (this.authorities[side] === good?.caPem ? certificate === good : certificate === otherCa)
    );
  }

  /** New connections meet it. */
  showCertificate(side: RigSide, which: keyof RigCertificates): void {
    this.proxies[side].certificate = this.#certificates?.[side][which];
  }

  /** The kubeconfigs name the authority of that certificate from now on. */
  nameAuthority(side: RigSide, which: keyof RigCertificates): void {
    this.authorities[side] = this.#certificates?.[side][which].caPem ?? '';
    for (const { name } of this.everyDaemon) this.#kubeconfig(side, name);
  }

  /** The API server gets another address, which the kubeconfigs name from now on. */
  moveServer(side: RigSide): void {
    this.hostnames[side] = `new-${this.hostnames[side]}`;
    for (const { name } of this.everyDaemon) this.#kubeconfig(side, name);
  }

  async act(act: Act): Promise<void> {
    for (const one of this.ears) one.acted?.(act);
    switch (act.do) {
      case 'wait':
        return this.advance(act.ms);
      case 'calm':
        for (const one of this.ears) await one.calm?.(act);
        return;
      case 'lastChance':
        return;
      case 'reload':
        return this.#reload(act.configuration);
      case 'restart':
        return this.restart(act.daemon % this.daemons.length);
      case 'kill':
        return this.kill(act.daemon % this.daemons.length);
      case 'down':
        return this.crash(this.daemons[act.daemon % this.daemons.length]?.name ?? '', act.ms);
      default:
        return this.people.play(act);
    }
  }

  daemonOf(name: string): RigDaemon | undefined {
    return this.everyDaemon.find((one) => one.name === name);
  }

  /** kill -9, and a new process after a while. */
  crash(name: string, downMs = restartMs): void {
    const daemon = this.daemonOf(name);
    const position = daemon === undefined ? -1 : this.daemons.indexOf(daemon);
    if (position < 0 || daemon?.isAlive !== true || this.#isFull()) return;
    daemon.kill();
    if (!this.daemons.some(({ isAlive }) => isAlive)) this.#emptySinceMs = this.clock.now();
    this.#starting++;
    this.clock.after(downMs, () => {
      this.#starting--;
      this.startDaemon(position);
    });
  }

  /** SIGTERM, and a new process as soon as the old one has ended. */
  async terminate(name: string): Promise<void> {
    const daemon = this.daemonOf(name);
    const position = daemon === undefined ? -1 : this.daemons.indexOf(daemon);
    if (position < 0 || daemon?.isAlive !== true || this.#isFull()) return;
    this.#starting++;
    await Promise.race([daemon.stop(), new Promise<void>((resolve) => void this.clock.after(stopWithinMs, resolve))]);
    // A process that is stopped hears no signal.
    if (daemon.isAlive && !daemon.isHeld) this.overdue.push(daemon.name);
    daemon.kill();
    this.#starting--;
    this.startDaemon(position);
  }

  /** Whether a process is about to start. */
  get isStarting(): boolean {
    return this.#starting > 0 || this.daemons.some(({ state }) => state === 'starting');
  }

  /** Runs when the API server has carried out a request, before a byte of its answer leaves. */
  onAnswer(side: RigSide, id: number, run: () => void): void {
    this.#onAnswer.set(`${side} ${id}`, run);
  }

  /** Runs when nothing is left to do without a timer. */
  afterStill(run: () => void): void {
    this.#afterStill.push(run);
  }

  /** The same coin for the same run. */
  flips(nth: number): boolean {
    this.#coin ??= new Chance(this.seed, `coin ${nth}`);
    return this.#coin.isHit(0.5);
  }

  #reload(nth: number): void {
    const configuration = this.scenario.configurations[nth % this.scenario.configurations.length] as object;
    this.configurations.push({ configuration, sinceMs: this.clock.now() });
    for (const daemon of this.daemons) daemon.apply(configuration);
  }

  /** SIGTERM, and a new process when the old one has ended. */
  async restart(position: number): Promise<void> {
    const daemon = this.daemons[position];
    if (daemon === undefined || this.#isFull()) return;
    let isOver = false;
    void daemon.stop().then(() => {
      isOver = true;
    });
    await this.until(() => isOver || !daemon.isAlive, stopWithinMs);
    if (daemon.isAlive) daemon.kill();
    this.startDaemon(position);
  }

  kill(position: number): void {
    if (this.#isFull()) return;
    this.daemons[position]?.kill();
    this.startDaemon(position);
  }

  #isFull(): boolean {
    return this.everyDaemon.length >= mostDaemons;
  }

  /** Lets time pass; between two timers everything runs that can run. */
  async advance(ms: number): Promise<void> {
    const limitMs = this.clock.now() + ms;
    do {
      await this.#still();
    } while (this.clock.step(limitMs));
    await this.#stillness.wait();
  }

  /** Lets time pass until something is true; false = it was not in time. */
  async until(isTrue: () => boolean, withinMs: number): Promise<boolean> {
    const limitMs = this.clock.now() + withinMs;
    for (;;) {
      await this.#still();
      if (isTrue()) return true;
      if (!this.clock.step(limitMs)) return isTrue();
    }
  }

  async #still(): Promise<void> {
    await this.#stillness.wait();
    for (const run of this.#afterStill.splice(0)) run();
    for (const one of this.ears) one.still?.();
  }

  async stop(): Promise<void> {
    for (const side of rigSides) this.proxies[side].meddlers = [];
    for (const daemon of this.daemons) daemon.kill();
    for (const side of rigSides) this.proxies[side].stop();
    for (const side of rigSides) await this.clusters[side].stop();
    rmSync(this.#folder, { recursive: true, force: true });
    readFilesAsBefore();
    countNoTurns();
  }
}

/** A crash loop of twenty kills, and the daemons of the scenario. */
const mostDaemons = 40;
/** As long as a container takes to come again. */
const restartMs = 400;
/** A container that ended by itself comes again a little later. */
const backOffMs = 5_000;
/** A daemon ends within five seconds of SIGTERM. */
const stopWithinMs = 6_000;
