// The store on a Kubernetes API server as two replicas, each in a process of its own: half of the clients talk to the one, which is killed, and half to the
// other. The API server is an embedded cluster in this process.
import { systemClock } from '../../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { newNamespace } from '../../../contract/store/on-host.ts';
import type { Plant } from './planted.ts';
import type { PlaceOfStore } from './process-messages.ts';
import { type StoreProcess, StoreProcesses } from './store-process.ts';
import type { Reach, Stage, Subject } from './subject.ts';

/** On demand: a watch in two hundred histories then stops without an end, and nobody knows yet whose fault it is. */
const areStreamsCut = process.env['HOSTWARD_CUT_STREAMS'] !== undefined;

/** What the API server keeps its objects in. */
class HostStore extends MemoryStore {
  /** As when etcd was compacted, and every watch ends. */
  async forget(): Promise<void> {
    await this.compact(this.timeline.revision);
    this.hub.loseAll();
  }
}

export function kubernetesSubject(plant?: Plant): Subject {
  let host: Promise<Devcluster> | undefined;
  const store = new HostStore({ clock: systemClock });
  const processes = new StoreProcesses();
  return {
    name: 'kubernetes',
    promises: { areReadsFresh: false, hasGaps: true, canBeKilled: true, canBeFull: false, canBeCut: areStreamsCut },
    async open() {
      host ??= store.start().then(() => startDevcluster({ name: 'host', store: { kind: 'given', store } }));
      const { url, caPem, adminToken } = await host;
      const server = { url, caPem, adminToken };
      const namespace = await newNamespace(server);
      const replicas = ['one', 'two'].map(
        (replica) => new Replica({ on: { kind: 'server', server, namespace, replica }, plant, processes }),
      );
      for (const replica of replicas) await replica.start();
      return new ReplicatedStage(replicas as [Replica, Replica], store);
    },
    async stop() {
      await processes.stop();
      await (await host)?.stop();
      await store.stop();
    },
  };
}

class ReplicatedStage implements Stage {
  #replicas: readonly [Replica, Replica];

  #host: HostStore;

  constructor(replicas: readonly [Replica, Replica], host: HostStore) {
    this.#replicas = replicas;
    this.#host = host;
  }

  reach(client: number): Reach {
    return (this.#replicas[client % 2] as Replica).reach();
  }

  kill(): Promise<void> {
    return this.#replicas[0].kill();
  }

  cut(): Promise<void> {
    return this.#host.forget();
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
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

  async kill(): Promise<void> {
    const { on, plant, processes } = this.#given;
    // One that is just being opened is killed when it serves.
    this.#open = this.#open
      .then(() => this.#process.kill())
      .then(() => {
        this.#process = processes.take();
        return this.#process.tell({ do: 'open', on, plant });
      });
    await this.#open;
  }

  async close(): Promise<void> {
    await this.#open;
    await this.#process.tell({ do: 'close' });
    this.#given.processes.giveBack(this.#process);
  }
}
