// Starts and stops a direct endpoint: an HTTPS server next to a cluster that passes on the requests of holders of direct tokens.
// In: settings, a clock, a log. Out: the server, its probes, and streams that end with their tokens.

import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Chain } from '../../../apiserver/chain/chain.ts';
import { makeListener } from '../../../apiserver/chain/listener.ts';
import { CallerLimits, type Held, type Limit } from '../../../apiserver/limits/caller-limits.ts';
import { closeConnections } from '../../../apiserver/limits/last-bytes.ts';
import { UnprovenConnections } from '../../../apiserver/limits/unproven-connections.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import { authorityIn } from '../../../apiserver/tls/authority-folder.ts';
import { CertificateFiles, readPair } from '../../../apiserver/tls/certificate-files.ts';
import { makeServingCertificate } from '../../../apiserver/tls/certificates.ts';
import { fromSetting, listen } from '../../../apiserver/wire/listen.ts';
import type { Clock, Timer } from '../../../clock.ts';
import type { DirectSettings } from '../../../config/settings/management-settings.ts';
import { parseListen } from '../../../config/settings/text-rules.ts';
import type { Log } from '../../../log.ts';
import { Revocations } from '../../credentials/claims/revocations.ts';
import { isProxiedUrl } from '../../scope/classify.ts';
import { Directory } from '../../scope/directory.ts';
import type { AccessRequest } from '../../scope/request.ts';
import { PassedBytes } from '../forward/passed-bytes.ts';
import { LiveStreams } from '../live-streams.ts';
import { ProxyRoute } from '../proxy-route.ts';
import { maxHeaderBytes } from '../sender.ts';
import { AuditFile } from './audit-file.ts';
import { auditLines } from './audit-lines.ts';
import { directChain } from './direct-chain.ts';
import { DirectUpstream } from './direct-upstream.ts';
import { KnownKeys } from './known-keys.ts';
import { PlatformClient } from './platform-client.ts';
import { RevocationWatch } from './revocation-watch.ts';
import { TokenGate } from './token-gate.ts';
import { emptySettings } from './token-holder.ts';
import { Uploads } from './uploads.ts';

export interface DirectEndpointOptions {
  settings: DirectSettings;
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
  /** Seconds to wait for a source with too many wrong tokens. */
  failedLogin(source: string): number | undefined;
  /** The limits of the management server, unless a test makes them small. */
  callerLimits?: Partial<Readonly<Record<Held, Limit>>>;
}

/** Streams of expired tokens end within a second. A revocation ends its streams at once. */
const streamCheckMs = 400;

export class DirectEndpoint {
  readonly #options: DirectEndpointOptions;
  readonly #live = new LiveStreams<User>();
  readonly #revocations = new Revocations();
  readonly #watch: RevocationWatch;
  readonly #keys: KnownKeys;
  readonly #gate: TokenGate;
  readonly #upstream: DirectUpstream;
  readonly #chain: Chain;
  readonly #unproven: UnprovenConnections;
  readonly #limits: CallerLimits;
  readonly #audit: AuditFile;
  readonly #uploads: Uploads;
  #server: Server | undefined;
  #files: CertificateFiles | undefined;
  #check: Timer | undefined;
  #caPem = '';
  #isEndingStreams = false;

  constructor(options: DirectEndpointOptions) {
    this.#options = options;
    const { settings, environment, clock, log, failedLogin } = options;
    const { platform, certificateAuthority, keyFile, cluster, silence } = settings;
    const client = new PlatformClient({ platform, certificateAuthority, keyFile, cluster, clock });
    this.#watch = new RevocationWatch({
      open: () => client.revocations(),
      taken: (entry) => {
        this.#revocations.take(entry);
        this.#endStreamsSoon();
      },
      silenceMs: silence * 1000,
      clock,
      log,
    });
    this.#keys = new KnownKeys({
      fetch: () => client.keySet(),
      changed: () => this.#gate.forgetProofs(),
      clock,
      log,
    });
    const isSent = (target: AccessRequest['target']) =>
      (target.kind === 'Cluster' && target.cluster === cluster) ||
      (target.kind === 'ProjectSpace' &&
        settings.spaces.some((one) => one.project === target.project && one.name === target.space));
    const file = new AuditFile({ folder: settings.dataDir, clock, log, isSent });
    this.#audit = file;
    const uploads = new Uploads({
      report: (spec) => client.report(spec),
      sent: (entry) => file.sent(entry),
      clock,
      log,
    });
    this.#uploads = uploads;
    const trouble = () => this.trouble;
    this.#gate = new TokenGate({ settings, keys: this.#keys, revocations: this.#revocations, trouble, clock, log });
    this.#upstream = new DirectUpstream({ settings, environment, clock, log });
    const unproven = new UnprovenConnections({ clock, log });
    this.#unproven = unproven;
    const limits = new CallerLimits(options.callerLimits);
    this.#limits = limits;
    const nobody = new Directory(emptySettings);
    const proxy = new ProxyRoute({
      callerOf: (user) => this.#gate.holderOf(user),
      // The claims of each holder hold a directory.
      directory: () => nobody,
      upstreams: this.#upstream,
      live: this.#live,
      passed: new PassedBytes({ clock, log }),
      clock,
      log,
    });
    this.#chain = directChain({
      ...{ proxy, gate: this.#gate, limits, unproven, failedLogin, clock, log },
      audit: auditLines({
        ...{ clock, log, file, isSent, offer: (entry) => uploads.offer(entry) },
        subjectOf: (user) => this.#gate.subjectOf(user),
      }),
      used: ({ claims }) => uploads.used(claims.keyUid, clock.wallTime().getTime()),
      trouble: () => this.trouble,
    });
  }

  async start(): Promise<void> {
    const { settings, clock, log } = this.#options;
    const { host, port } = parseListen(settings.listen) as { host: string; port: number };
    for (const entry of await this.#audit.start()) this.#uploads.offer(entry);
    const pair = await this.#certificate(host);
    const server = makeListener({
      tls: { cert: pair.certPem, key: pair.keyPem },
      maxHeaderBytes,
      unproven: this.#unproven,
      clock,
      takesUpgrades: isProxiedUrl,
      handle: (request, client) => void this.#chain.handle(request, client),
    });
    this.#server = server as Server;
    const { tls } = settings;
    if (tls !== undefined)
      this.#files = new CertificateFiles({
        paths: tls,
        current: pair,
        clock,
        log,
        changed: ({ certPem, keyPem }) => (server as Server).setSecureContext({ cert: certPem, key: keyPem }),
      });
    await listen(server, { port, host }, log).catch(fromSetting('hostward.direct.listen'));
    this.#watch.start();
    await Promise.all([this.#keys.start(), this.#upstream.open()]);
    this.#checkStreams();
    log.info({ component: 'direct', url: this.url, cluster: settings.cluster }, 'direct endpoint started');
  }

  async stop(): Promise<void> {
    this.#check?.cancel();
    this.#files?.stop();
    this.#keys.stop();
    await this.#watch.stop();
    await this.#live.closeAll('the endpoint is stopping');
    this.#upstream.close();
    await this.#uploads.stop();
    await this.#audit.stop();
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await closeConnections(server, closed, this.#options.clock);
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? 0;
  }

  get url(): string {
    const { host } = parseListen(this.#options.settings.listen) as { host: string };
    return `https://${host.includes(':') ? `[${host}]` : host}:${this.port}`;
  }

  /** The CA that Hostward made itself; empty when the certificate comes from files. */
  get caPem(): string {
    return this.#caPem;
  }

  /** Requests, streams and sessions that pass through. */
  get proxied(): number {
    return this.#live.count;
  }

  /** Of holders of tokens, each counted by the access key of its token. */
  get connections(): { open: number; refused: number } {
    return { open: this.#limits.open('connections'), refused: this.#limits.refused('connections') };
  }

  /** Audit lines that the platform does not have yet, and those that it will not get. */
  get auditLines(): { waiting: number; lost: number } {
    return { waiting: this.#uploads.waiting, lost: this.#uploads.lost };
  }

  /** Since the last sign of life of the platform. */
  get feedAgeSeconds(): number {
    return this.#watch.ageSeconds;
  }

  /** Why no token is accepted; undefined = tokens are accepted. */
  get trouble(): string | undefined {
    return (
      this.#watch.trouble ?? (this.#keys.keys.size === 0 ? 'the key set of the platform is not known yet' : undefined)
    );
  }

  async #certificate(host: string) {
    const { settings, clock } = this.#options;
    if (settings.tls !== undefined) return readPair(settings.tls);
    const now = clock.wallTime();
    const authority = await authorityIn(settings.dataDir, 'hostward-direct', now);
    this.#caPem = authority.certPem;
    const isEverywhere = host === '0.0.0.0' || host === '::';
    const names = new Set(['localhost', '127.0.0.1', ...(isEverywhere ? [] : [host])]);
    return makeServingCertificate('hostward-direct', [...names], now, authority);
  }

  #checkStreams(): void {
    const { clock } = this.#options;
    this.#revocations.forgetOld(clock.wallTime().getTime());
    this.#endStreams();
    this.#check = clock.after(streamCheckMs, () => this.#checkStreams());
  }

  /** Revocations come in thousands after a start, and each look goes through all streams. */
  #endStreamsSoon(): void {
    if (this.#isEndingStreams) return;
    this.#isEndingStreams = true;
    queueMicrotask(() => {
      this.#isEndingStreams = false;
      this.#endStreams();
    });
  }

  #endStreams(): void {
    this.#live.closeWhere((user) => this.#gate.endOf(user));
  }
}
