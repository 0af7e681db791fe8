// Servers that take each other's place, and a connection whose file names one of them.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import type { ClusterAccess } from '../../../src/cluster/credentials/access.ts';
import type { ClusterConnection } from '../../../src/cluster/wire/connection.ts';
import { RawConnection } from '../../../src/cluster/wire/raw-connection.ts';
import { openConnection } from '../../../src/cluster/wire/transport.ts';
import { type Log, silentLog } from '../../../src/log.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { type Authority, makeAuthority } from '../certificates.ts';
import { sendJson } from '../scripted-server.ts';
import { plainCredentials } from '../subject.ts';

export const path = '/api/v1/namespaces/kube-system';
export const namespace = (uid: string) => ({
  kind: 'Namespace',
  apiVersion: 'v1',
  metadata: { name: 'kube-system', uid },
});

export class RotationStage {
  oldCa!: Authority;
  newCa!: Authority;
  clock!: VirtualClock;
  /** What the file says now. */
  named!: { server: string; ca: string };
  /** Why nothing can be read of it. */
  broken: string | undefined;
  reads!: number;
  connection!: ClusterConnection;
  logged!: string[];
  readonly servers = new Set<Server>();

  constructor() {
    beforeAll(async () => {
      [this.oldCa, this.newCa] = await Promise.all([makeAuthority('old'), makeAuthority('new')]);
    });
    beforeEach(() => {
      this.clock = new VirtualClock();
      this.reads = 0;
      this.broken = undefined;
      this.logged = [];
    });
    afterEach(async () => {
      await this.connection?.close();
      for (const server of [...this.servers]) await this.stop(server);
      expect(this.clock.pendingTimers).toBe(0);
    });
  }

  async serve(
    ca: Authority,
    uid: string | RequestListener,
    port?: number,
    { name, host = '127.0.0.1' }: { name?: string; host?: string } = {},
  ): Promise<{ server: Server; url: string; port: number }> {
    const answer: RequestListener =
      typeof uid === 'string' ? (_, response) => sendJson(response, 200, namespace(uid)) : uid;
    const server = createServer(await ca.issue(name === undefined ? {} : { name }), answer);
    this.servers.add(server);
    server.listen(port ?? (await freePort()), host);
    await once(server, 'listening');
    const at = (server.address() as AddressInfo).port;
    return { server, port: at, url: `https://127.0.0.1:${at}` };
  }

  async stop(server: Server): Promise<void> {
    this.servers.delete(server);
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    // The other side sees that its idle connections are gone.
    await settle(20);
  }

  credentials() {
    const read = async (): Promise<ClusterAccess> => {
      this.reads++;
      if (this.broken !== undefined) throw new Error(this.broken);
      const { server, ca } = this.named;
      const tls = { ca, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
      return { server, proxy: undefined, headers: {}, tls, from: 'files' };
    };
    return { ...plainCredentials(this.named.server), source: 'kubeconfig "k"', read };
  }

  open(): void {
    const note = (_: unknown, message: string) => void this.logged.push(message);
    const log = { ...silentLog, info: note, error: note, warn: note, child: () => log } as unknown as Log;
    this.connection = openConnection({ name: 'virtual', credentials: this.credentials(), clock: this.clock, log });
  }

  /** A connection of the management API to a cluster behind it. `status`: the code of a GET, or how it failed. */
  rawConnection() {
    const raw = new RawConnection({ name: 'x', credentials: this.credentials(), clock: this.clock, log: silentLog });
    const status = async () => {
      const answer = await raw.send({ method: 'GET', path, headers: [], body: undefined } as never).answered;
      if (answer.kind !== 'response') return answer.kind;
      answer.response.resume();
      return answer.response.statusCode;
    };
    return { status, close: () => raw.close() };
  }

  readonly get = async () => {
    const answer = await this.connection.request({ method: 'GET', path });
    return answer.kind === 'ok' ? answer.object.metadata.uid : answer.kind;
  };

  /** A server that the connection has used, and whose uid it knows. */
  async used(): Promise<{ server: Server; url: string; port: number }> {
    const first = await this.serve(this.oldCa, 'ours');
    this.named = { server: first.url, ca: this.oldCa.cert };
    this.open();
    expect(await this.get()).toBe('ours');
    this.connection.pin({ path, uid: 'ours' });
    return first;
  }
}
