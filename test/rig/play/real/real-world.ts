// Two API servers, a door in front of each, and daemons as processes of their own, in real time. In: a scenario. Out: what the model asks of a
// run: both clusters with every write and its author, the configurations in force, and when no daemon was there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeServingCertificate, type ServingCertificate } from '../../../../src/apiserver/tls/certificates.ts';
import { kubeconfigText } from '../../../../src/apiserver/tls/kubeconfig.ts';
import { freePorts } from '../../../../src/cli/demo/free-ports.ts';
import { pause, systemClock } from '../../../../src/clock.ts';
import { RigCluster, type RigSide, rigSides } from '../../stage/rig-cluster.ts';
import type { Scenario } from '../../traffic/acts.ts';
import { People } from '../../traffic/play.ts';
import { Chance } from '../random.ts';
import type { WorldEars } from '../world.ts';
import { Door } from './door.ts';
import { type End, RealDaemon } from './real-daemon.ts';

const mostDaemons = 60;
/** As long as a container takes to come again. */
const restartMs = 400;
/** A container that ended by itself comes again a little later. */
const backOffMs = 2_000;
const stopWithinMs = 6_000;
const lookMs = 100;
/** How a daemon ends that could not reach a cluster when it started; a new process takes its place. */
const unreachable = 3;

export class RealWorld {
  readonly clock = systemClock;
  readonly clusters: Readonly<Record<RigSide, RigCluster>>;
  readonly doors: Readonly<Record<RigSide, Door>>;
  readonly people: People;
  readonly daemons: RealDaemon[] = [];
  readonly everyDaemon: RealDaemon[] = [];
  readonly ears: WorldEars[] = [];
  readonly configurations: { configuration: object; sinceMs: number }[] = [];
  readonly absences: { fromMs: number; toMs: number }[] = [];
  /** What a process did that none may do. */
  readonly misdeeds: string[] = [];
  readonly scenario: Scenario;
  readonly certificates: Readonly<Record<RigSide, ServingCertificate>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'hostward-real-'));
  #ports: readonly number[] = [];
  #emptySinceMs: number | undefined;
  #isOver = false;

  private constructor(scenario: Scenario, seed: number, certificates: RealWorld['certificates']) {
    this.scenario = scenario;
    this.certificates = certificates;
    const chance = new Chance(seed, 'servers');
    const names = Array.from({ length: mostDaemons }, (_, nth) => [`hostward-${nth}`, tokenOf(nth)] as const);
    const cluster = (side: RigSide) =>
      new RigCluster({ side, clock: systemClock, chance, note: () => {}, daemons: new Map(names) });
    this.clusters = { virtual: cluster('virtual'), host: cluster('host') };
    const daemons = new Map(names.map(([name, token]) => [token, name]));
    const door = (side: RigSide) =>
      new Door({ cluster: this.clusters[side], certificate: certificates[side], daemons });
    this.doors = { virtual: door('virtual'), host: door('host') };
    this.people = new People(this.clusters, scenario);
  }

  static async open(scenario: Scenario, seed: number): Promise<RealWorld> {
    const now = new Date();
    const world = new RealWorld(scenario, seed, {
      virtual: await makeServingCertificate('virtual', ['127.0.0.1'], now),
      host: await makeServingCertificate('host', ['127.0.0.1'], now),
    });
    for (const side of rigSides) {
      await world.clusters[side].start();
      await world.doors[side].open();
    }
    world.#ports = await freePorts(scenario.daemons);
    await world.people.prepare();
    world.configurations.push({ configuration: scenario.configurations[0] as object, sinceMs: world.clock.now() });
    return world;
  }

  /** Milliseconds in which the daemons could run. A bound of theirs counts nothing else. */
  ownMs(): number {
    return this.clock.now() - this.everyDaemon.reduce((sum, { waitedMs }) => sum + waitedMs, 0);
  }

  /** False = it is still not true after so long a time of the daemons. */
  async until(isTrue: () => Promise<boolean> | boolean, withinMs: number): Promise<boolean> {
    const limitMs = this.ownMs() + withinMs;
    while (!(await isTrue())) {
      if (this.ownMs() > limitMs) return false;
      await pause(this.clock, lookMs);
    }
    return true;
  }

  get configuration(): object {
    return this.configurations.at(-1)?.configuration as object;
  }

  daemonOf(name: string): RealDaemon | undefined {
    return this.everyDaemon.find((one) => one.name === name);
  }

  startDaemon(position: number): void {
    if (this.#isOver || this.daemons[position]?.isAlive === true) return;
    const nth = this.everyDaemon.length;
    if (nth >= mostDaemons) throw new Error(`start a daemon: wanted at most ${mostDaemons} in a run, found more`);
    const kubeconfigs = { virtual: this.#kubeconfig('virtual', nth), host: this.#kubeconfig('host', nth) };
    const daemon = new RealDaemon({
      ...{ name: `hostward-${nth}`, folder: this.#folder, kubeconfigs },
      ...{ configuration: this.configuration, port: this.#ports[position] as number },
    });
    this.daemons[position] = daemon;
    this.everyDaemon.push(daemon);
    void this.#serves(daemon);
    void daemon.ended.then((end) => this.#ended(daemon, position, end));
  }

  /** A process that loads its program is as good as none. */
  async #serves(daemon: RealDaemon): Promise<void> {
    while (daemon.isAlive && !(await daemon.isReady())) await pause(this.clock, lookMs);
    if (!daemon.isAlive || this.#emptySinceMs === undefined) return;
    this.absences.push({ fromMs: this.#emptySinceMs, toMs: this.clock.now() });
    this.#emptySinceMs = undefined;
  }

  #ended(daemon: RealDaemon, position: number, { code, signal }: End): void {
    if (this.#isOver) return;
    if (!this.daemons.some(({ isAlive }) => isAlive)) this.#emptySinceMs ??= this.clock.now();
    const { sent, log, name } = daemon;
    const isMeant = sent.has('SIGTERM') || sent.has('SIGKILL');
    // Before its first code runs and behind its last, the kernel ends a process by each signal that it knows of; outside a container, that is.
    const isUnheard = signal !== null && sent.has(signal) && (log === '' || log.includes('"msg":"stopped"'));
    const isRight = sent.has('SIGKILL') || isUnheard || (sent.has('SIGTERM') ? code === 0 : code === unreachable);
    if (!isRight)
      this.misdeeds.push(`${name} ended with ${code ?? signal} after ${[...sent].join(', ')}: ${log.slice(-800)}`);
    void pause(this.clock, isMeant ? restartMs : backOffMs).then(() => this.startDaemon(position));
  }

  #kubeconfig(side: RigSide, nth: number): string {
    const path = join(this.#folder, `${side}-${nth}`);
    const url = `https://127.0.0.1:${this.doors[side].port}`;
    const text = kubeconfigText({
      name: side,
      url,
      caPem: this.certificates[side].caPem,
      token: tokenOf(nth),
      user: `hostward-${nth}`,
    });
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  reload(nth: number): void {
    const configuration = this.scenario.configurations[nth % this.scenario.configurations.length] as object;
    this.configurations.push({ configuration, sinceMs: this.clock.now() });
    for (const daemon of this.daemons) daemon.reload(configuration);
  }

  /** SIGTERM: it must have ended by itself in time. */
  async terminate(position: number): Promise<void> {
    const daemon = this.daemons[position];
    if (daemon?.isAlive !== true) return;
    daemon.send('SIGTERM');
    if (await this.until(() => !daemon.isAlive, stopWithinMs)) return;
    if (!daemon.isHeld) this.misdeeds.push(`${daemon.name} did not end within ${stopWithinMs} ms of SIGTERM`);
    daemon.send('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const daemon of this.daemons) if (daemon.isAlive) daemon.send('SIGKILL');
    await Promise.all(this.daemons.map(({ ended }) => ended));
    for (const side of rigSides) await this.doors[side].close();
    for (const side of rigSides) await this.clusters[side].stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function tokenOf(nth: number): string {
  return `rig-token-of-hostward-${nth}`;
}
