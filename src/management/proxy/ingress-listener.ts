// Listens for virtual clusters with `servedBy: hostward`. The TLS server name selects the instance, and `/` is the API of that
// instance. It accepts keys, direct tokens and client certificates of our own CA. A load balancer in front must pass TLS through.
// In: the configured instances and the management server. Out: requests, each with the entrance that it came through.

import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { makeListener } from '../../apiserver/chain/listener.ts';
import type { Client } from '../../apiserver/chain/served-request.ts';
import { refuseUpgrade } from '../../apiserver/limits/client-error.ts';
import { closeConnections } from '../../apiserver/limits/last-bytes.ts';
import type { UnprovenConnections } from '../../apiserver/limits/unproven-connections.ts';
import { readPair } from '../../apiserver/tls/certificate-files.ts';
import { makeServingCertificate } from '../../apiserver/tls/certificates.ts';
import { fromSetting, listen } from '../../apiserver/wire/listen.ts';
import { sendStatus } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';
import { parseListen } from '../../config/settings/text-rules.ts';
import type { Log } from '../../log.ts';
import { pathNotFound } from '../../object/meta/status.ts';
import { type Instance, instanceNamed } from '../credentials/issue/asker.ts';
import type { Ingress, IngressParts } from '../credentials/issue/kubeconfigs.ts';
import { entryName } from '../credentials/kubeconfig/names.ts';
import { type InstanceEntrance, maxHeaderBytes } from './sender.ts';

/** Serves requests that came through an entrance: the management server. */
export interface EntranceServer {
  handle(request: IncomingMessage, client: Client, entrance: InstanceEntrance): void;
}

export interface IngressOptions extends IngressParts {
  server: EntranceServer;
  unproven: UnprovenConnections;
  clock: Clock;
  log: Log;
}

/** After this time the next connection reads the certificate files again; open connections keep their certificate. */
const contextLastsMs = 10_000;

interface Served {
  atMs: number;
  context: Promise<SecureContext>;
}

export class IngressListener implements Ingress {
  readonly #options: IngressOptions;
  /** By host name; no more entries than the configuration has instances. */
  readonly #contexts = new Map<string, Served>();
  #server: Server | undefined;

  constructor(options: IngressOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { listen: address, clientCaPem, server: served } = this.#options;
    const { host, port } = parseListen(address) as { host: string; port: number };
    const server = makeListener({
      tls: {
        requestCert: true,
        // Judged at every request, so that a client without a certificate can bring a key.
        rejectUnauthorized: false,
        ca: clientCaPem,
        SNICallback: (name, done) =>
          void this.#context(name.toLowerCase()).then((context) => done(null, context), done),
      },
      maxHeaderBytes,
      unproven: this.#options.unproven,
      clock: this.#options.clock,
      takesUpgrades: () => true,
      handle: (request, client) => {
        const entrance = this.#entranceOf(request);
        if (entrance !== undefined) served.handle(request, client, entrance);
        else if (client.kind === 'response') sendStatus(client.response, pathNotFound());
        else refuseUpgrade(client, pathNotFound());
      },
    });
    this.#server = server;
    await listen(server, { port, host }, this.#options.log).catch(fromSetting('hostward.management.ingressListen'));
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await closeConnections(server, closed, this.#options.clock);
  }

  get port(): number | undefined {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port;
  }

  /**
   * A handshake without a server name fails, but OpenSSL does not tell the name of a resumed session of TLS 1.2. The header Host
   * replaces it: the name selects the instance and proves nothing, so a wrong one leads to an instance that refuses the sender.
   */
  #entranceOf({ socket, headers }: IncomingMessage): InstanceEntrance | undefined {
    const name = socket instanceof TLSSocket && socket.servername;
    const instance = this.#instanceAt(typeof name === 'string' ? name : hostIn(headers.host ?? ''));
    if (instance === undefined) return undefined;
    const { project, name: of, uid } = instance;
    return {
      base: `/kubernetes/project/${project}/virtualcluster/${of}`,
      holder: (request) => this.#options.holder(request, uid),
    };
  }

  #instanceAt(host: string): Instance | undefined {
    const { instances } = this.#options;
    for (const project of instances.directory().settings.projects)
      for (const { name, ingress } of project.virtualClusters)
        if (ingress?.servedBy === 'hostward' && new URL(ingress.server).hostname === host.toLowerCase())
          return instanceNamed(instances, project.name, name);
    return undefined;
  }

  async #context(name: string): Promise<SecureContext> {
    const instance = this.#instanceAt(name);
    // A failed handshake ends with a TLS alert; an HTTP answer is not possible.
    if (instance === undefined) throw new Error('no virtual cluster is served under this name');
    const nowMs = this.#options.clock.now();
    const known = this.#contexts.get(name);
    if (known !== undefined && nowMs - known.atMs < contextLastsMs) return known.context;
    const context = this.#contextFor(instance, name);
    this.#contexts.set(name, { atMs: nowMs, context });
    context.catch(() => this.#contexts.delete(name));
    return context;
  }

  async #contextFor({ project, name, settings }: Instance, host: string): Promise<SecureContext> {
    const { serving, clientCaPem, clock, log } = this.#options;
    const tls = settings.ingress?.tls;
    try {
      const pair =
        tls === undefined
          ? await makeServingCertificate(entryName({ project, name }), [host], clock.wallTime(), serving)
          : await readPair(tls);
      return createSecureContext({ cert: pair.certPem, key: pair.keyPem, ca: clientCaPem });
    } catch (error) {
      log.error({ component: 'management', host, error: String(error) }, 'no certificate for a virtual cluster');
      throw error;
    }
  }
}

function hostIn(header: string): string {
  return header.replace(/:\d+$/, '');
}
