// A daemon's port with the real pages over a real sync: many objects, a fault of every kind, and names that look like HTML.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import { OperationsServer } from '../../../src/daemon/operations/operations-server.ts';
import { Pages } from '../../../src/pages/pages.ts';
import { createPageFacts, type PageFacts } from '../../../src/sync/report/look/page-facts.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { FakeWorld, putPair } from '../../sync/fake-sync.ts';

const read = (name: string): StatusJson =>
  JSON.parse(
    readFileSync(fileURLToPath(new URL(`../../../fixtures/pages/status/${name}.json`, import.meta.url)), 'utf8'),
  );

/** Annotations are the one field in which a tenant may write anything. */
export const hostile = `<script>alert("annotation")</script><img src=x onerror=alert(1)>`;

export class PagesStage {
  readonly world = new FakeWorld();
  /** What the daemon tells; a test may change it. */
  status = read('failing');
  readonly well = read('well');
  /** Further links of the navigation, as the next start() has them. */
  links: { path: string; words: string }[] = [];
  #server: OperationsServer | undefined;
  #port = 0;

  async open(objects = 250): Promise<this> {
    for (let at = 0; at < objects; at++) putPair(this.world, `object-${String(at).padStart(6, '0')}`);
    putPair(this.world, 'hostile', '10.0.0.1', { annotations: { 'example.com/note': hostile } });
    await this.world.run();
    while (this.world.sync.ledger.inSync <= objects) await this.world.quiet();
    await this.start();
    return this;
  }

  get facts(): PageFacts {
    return createPageFacts({
      clock: this.world.clock,
      syncs: () => [this.world.sync],
      contents: () => [],
      referrersOf: () => [],
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, after a stop() at the same address. */
  async start(): Promise<void> {
    const status = () => this.status;
    const { facts, links } = this;
    const pages = new Pages({ clock: systemClock, status, facts, links, port: () => this.#port });
    const answers = {
      health: () => ({ isHealthy: true, lines: [] }),
      readiness: () => ({ isReady: true, lines: [], parts: [] }),
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
      status,
      objects: () => [],
      objectStatus: () => undefined,
    };
    this.#server = new OperationsServer({ host: '127.0.0.1', port: this.#port }, answers, { pages });
    await this.#server.start();
    this.#port = this.#server.address.port;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.world.stop();
  }
}
