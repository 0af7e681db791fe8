// The store on a Kubernetes API server as two replicas, each in a process of its own: half of the clients talk to the one, which is killed, and half to the
// other. The API server is an embedded cluster in this process unless a real one is given;
// the stream of the second replica lags, and repeats changes.
import { pause, systemClock } from '../../../../src/clock.ts';
import { startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { type HostServer, newNamespace, recordsOn } from '../../../contract/store/on-host.ts';
import type { Plant } from './planted.ts';
import type { PlaceOfStore } from './process-messages.ts';
import { type StoreProcess, StoreProcesses } from './store-process.ts';
import type { Moment, Reach, Stage, Subject, Whom } from './subject.ts';

/** A replica opens a stream again a second after it was opened at the earliest. */
const forgetAfterMs = 300;
/** Together as long as a real API server needs to start on a busy machine. */
const startAgainMs = 500;
const mostStarts = 60;

/** What an embedded API server keeps its objects in. */
class HostStore extends MemoryStore {
  /** What is written between the end of the streams and their return is forgotten too, so that a replica has missed it. */
  async forget(): Promise<void> {
    this.hub.loseAll();
    await pause(systemClock, forgetAfterMs);
    await this.compact(this.timeline.revision);
  }
}

/** An API server, for one history at a time, because a cut ends all its streams. */
export interface Host {
  server: HostServer;
  /** As when etcd was compacted, and every watch ends. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

async function startEmbedded(): Promise<Host> {
  const store = new HostStore({ clock: systemClock });
  await store.start();
  const cluster = await startDevcluster({ name: 'host', store: { kind: 'given', store } });
  return {
    server: cluster,
    cut: () => store.forget(),
    async stop() {
      await cluster.stop();
      await store.stop();
    },
  };
}

export function kubernetesSubject(plant?: Plant, startHost = startEmbedded): Subject {
  const all: Host[] = [];
  const idle: Host[] = [];
  const processes = new StoreProcesses();
  const taken = async (): Promise<Host> => {
    const known = idle.pop();
    if (known !== undefined) return known;
    const host = await startHost();
    all.push(host);
    return host;
  };
  return {
    name: 'kubernetes',
    promises: { areReadsFresh: false, hasGaps: true, canBeKilled: true, canBeFull: false, canBeCut: true },
    async open() {
      const host = await taken();
      const { url, caPem, adminToken } = host.server;
      const server = { url, caPem, adminToken };
      const namespace = await newNamespace(server);
      const replicas = ['one', 'two'].map((replica) => {
        const on = { kind: 'server' as const, server, namespace, replica, isStrained: replica === 'two' };
        return new Replica({ on, plant, processes });
      });
      for (const replica of replicas) await replica.start();
      return new ReplicatedStage(replicas as [Replica, Replica], { host, namespace, left: () => idle.push(host) });
    },
    async stop() {
      await processes.stop();
      for (const host of all) await host.stop();
    },
  };
}

class ReplicatedStage implements Stage {
  #replicas: readonly [Replica, Replica];
  #given: { host: Host; namespace: string; left(): void };

  constructor(replicas: readonly [Replica, Replica], given: { host: Host; namespace: string; left(): void }) {
    this.#replicas = replicas;
    this.#given = given;
  }

  reach(client: number): Reach {
    return (this.#replicas[client % 2] as Replica).reach();
  }

  async kill(moment?: Moment, whom?: Whom): Promise<void> {
    const [one, other] = this.#replicas;
    const struck = whom === undefined ? [one] : whom === 'other' ? [other] : [one, other];
    await Promise.all(struck.map((replica) => replica.kill(moment)));
  }

  freeze(forMs: number, moment?: Moment): Promise<void> {
    return this.#replicas[0].freeze(forMs, moment);
  }

  lag(forMs: number): Promise<void> {
    return this.#replicas[1].lag(forMs);
  }

  /** Only what no replica believes: what one believes, the other must. */
  async tidy(): Promise<number> {
    const [here, there] = await Promise.all(this.#replicas.map(async (replica) => (await replica.judged()).aside));
    const names = here?.filter((name) => there?.includes(name)) ?? [];
    if (names.length === 0) return 0;
    const records = recordsOn(this.#given.host.server, this.#given.namespace);
    for (const name of names) await records.remove(name, (await records.get(name))?.version ?? 0);
    await records.stop();
    return names.length;
  }

  async late(): Promise<number> {
    const each = await Promise.all(this.#replicas.map(async (replica) => (await replica.judged()).late));
    return each.reduce((sum, late) => sum + late, 0);
  }

  async cut(): Promise<void> {
    await this.#given.host.cut();
    for (const replica of this.#replicas) await replica.serves();
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
    this.#given.left();
  }
}

class Replica {
  #given: { on: PlaceOfStore; plant: Plant | undefined; processes: StoreProcesses };
  #process: StoreProcess;
  /** Resolves when it serves. */
  #open: Promise<unknown> = Promise.resolve();

  constructor(given: { on: PlaceOfStore; plant: Plant | undefined; processes: StoreProcesses }) {
    this.#given = given;
    this.#process = given.processes.take();
  }

  async start(): Promise<void> {
    const { on, plant } = this.#given;
    this.#open = this.#process.tell({ do: 'open', on, plant });
    await this.#open;
  }

  reach(): Reach {
    return {
      ask: async (asked) => {
        await this.#open;
        return this.#process.ask(asked);
      },
      watch: async (prefix, afterRevision, deliver) => {
        await this.#open;
        return this.#process.watch(prefix, afterRevision, deliver);
      },
    };
  }

  async kill(moment?: Moment): Promise<void> {
    const { on, plant, processes } = this.#given;
    // One that is just being opened is killed when it serves.
    this.#open = this.#open
      .then(() => this.#process.kill(moment))
      .then(() => {
        this.#process = processes.take();
        return this.#startAgain({ on, plant });
      });
    await this.#open;
  }

  async freeze(forMs: number, moment?: Moment): Promise<void> {
    await this.#open;
    await this.#process.freeze(forMs, moment);
    await this.serves();
  }

  async lag(forMs: number): Promise<void> {
    await this.#open;
    await this.#process.lag(forMs);
  }

  async judged(): Promise<{ aside: string[]; late: number }> {
    await this.#open;
    const told = await this.#process.tell({ do: 'aside' });
    return 'aside' in told ? told : { aside: [], late: 0 };
  }

  /** One that has not heard its host for long answers nothing until it has. */
  async serves(): Promise<void> {
    for (let asks = 1; asks <= mostStarts; asks++) {
      const { kind } = await this.reach().ask({ verb: 'revision' });
      if (kind === 'revision') return;
      await pause(systemClock, startAgainMs);
    }
    throw new Error('never served again');
  }

  /** The way to the host may be cut at this moment, or a real API server be started again, and whoever runs a replica starts it until it serves. */
  async #startAgain(opening: { on: PlaceOfStore; plant: Plant | undefined }): Promise<void> {
    for (let start = 1; ; start++)
      try {
        await this.#process.tell({ do: 'open', ...opening });
        return;
      } catch (error) {
        if (start === mostStarts) throw error;
        await pause(systemClock, startAgainMs);
      }
  }

  async close(): Promise<void> {
    await this.#open;
    await this.#process.tell({ do: 'close' });
    this.#given.processes.giveBack(this.#process);
  }
}
