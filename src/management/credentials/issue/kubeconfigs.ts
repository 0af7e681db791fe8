// Issues kubeconfigs and ends their credentials, as one part of the management API. In: the open parts. Out: the
// subresource. While it runs, it ends each certificate in time.
import type { IncomingMessage } from 'node:http';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import type { Subresource } from '../../../apiserver/kinds/kind.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { authorityIn } from '../../../apiserver/tls/authority-folder.ts';
import type { Authority } from '../../../apiserver/tls/certificates.ts';
import { plainSerial } from '../../../apiserver/tls/client-certificates.ts';
import type { Clock } from '../../../clock.ts';
import { secretsFolder } from '../../../config/settings/management-settings.ts';
import { type Metrics, readSeries } from '../../../metrics.ts';
import { unauthorized } from '../../../object/meta/status.ts';
import type { Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';
import { credentialOf, type KeyWorld } from '../../keys/life/credential.ts';
import type { Credential } from '../../scope/allows.ts';
import { managementGroup } from '../../scope/request.ts';
import { ClientAuthority } from '../certificates/client-authority.ts';
import { IssueBook } from '../certificates/issue-book.ts';
import { endOf } from '../certificates/issue-record.ts';
import { kubeconfigKindName, kubeconfigSchemaName } from '../schema/kubeconfig-schema.ts';
import type { IssueParts } from './asker.ts';
import { certificateForm } from './certificate-form.ts';
import { type IssueCallers, issueParts, type OpenIssueParts } from './issue-parts.ts';
import { kubeconfigAction } from './kubeconfig-action.ts';
import { Revoker, type WaitingRemoval } from './revoker.ts';
import type { ReachOptions } from './virtual-cluster.ts';

export type KubeconfigsOptions = OpenIssueParts & Omit<ReachOptions, 'clock'> & { store: Store; followers: Followers };

/** What a listener for virtual clusters needs to know of their certificates. */
export interface IngressParts {
  /** HOST:PORT. */
  listen: string;
  instances: Pick<IssueParts, 'directory' | 'instanceUid'>;
  /** The holder of the connection's client certificate; undefined = no certificate. */
  holder(request: IncomingMessage, instance: string): Holder | undefined;
  /** Signs certificates for instances without a certificate of their own. */
  serving: Authority;
  /** The CA of accepted client certificates. */
  clientCaPem: string;
}

export interface Ingress {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly port: number | undefined;
}

export class Kubeconfigs {
  /** The subresource of a virtual cluster that makes a kubeconfig. */
  readonly subresource: Subresource;
  readonly #book: IssueBook;
  readonly #revoker: Revoker;
  readonly #options: KubeconfigsOptions;
  readonly #parts: IssueParts;
  readonly #authority: ClientAuthority;
  #ingress: Ingress | undefined;

  constructor(options: KubeconfigsOptions) {
    const { store, followers, world, settings, environment, clock, log } = options;
    const reach = { environment, clock, log };
    this.#options = options;
    this.#authority = new ClientAuthority(secretsFolder(options.server), clock);
    this.#book = new IssueBook({ store, followers });
    this.#revoker = new Revoker({ book: this.#book, world, reach, settings });
    const own = { book: this.#book, revoker: this.#revoker, authority: this.#authority, world, reach };
    const ingressAuthority = async () => (await this.#serving()).certPem;
    this.#parts = issueParts(options, ingressAuthority);
    const about = { kind: kubeconfigKindName, group: managementGroup, version: 'v1', schema: kubeconfigSchemaName };
    const act = kubeconfigAction(this.#parts, certificateForm(own));
    this.subresource = { mode: 'action', ...about, act, holdsSecret: true };
  }

  async open(): Promise<void> {
    await this.#book.start();
  }

  /** Certificates of keys that died while nothing ran lose their rights now. */
  async start(ingressOf: (parts: IngressParts) => Ingress): Promise<void> {
    this.#revoker.start();
    const { server, world, callers, clock, log } = this.#options;
    if (server.ingressListen === undefined) return;
    const holding = { book: this.#book, world, callers, clock };
    const ingress = ingressOf({
      listen: server.ingressListen,
      instances: this.#parts,
      holder: (request, instance) => certificateHolder(request, instance, holding),
      serving: await this.#serving(),
      clientCaPem: (await this.#authority.get()).certPem,
    });
    await ingress.start();
    this.#ingress = ingress;
    log.info({ component: 'management', port: ingress.port }, 'ingress of virtual clusters started');
  }

  async stop(): Promise<void> {
    await this.#ingress?.stop();
    await this.#revoker.stop();
    await this.#book.stop();
  }

  /** The CA of the management server, also where that has a certificate from files. */
  #serving(): Promise<Authority> {
    const { server, clock } = this.#options;
    return authorityIn(secretsFolder(server), 'hostward-management', clock.wallTime());
  }

  /** For `hostward status`. */
  status(): { live: number; removalsWaiting: readonly WaitingRemoval[]; ingressPort?: number } {
    const port = this.#ingress?.port;
    return {
      ...(port === undefined ? {} : { ingressPort: port }),
      live: this.#revoker.live,
      removalsWaiting: this.#revoker.waiting(),
    };
  }

  declareMetrics(metrics: Metrics): void {
    const series: [string, string, () => number][] = [
      ['hostward_client_certificates', 'Client certificates that count', () => this.#revoker.live],
      [
        'hostward_client_certificate_removals_waiting',
        'Client certificates whose rights still have to be removed',
        () => this.#revoker.waiting().length,
      ],
    ];
    for (const [name, help, read] of series) readSeries(metrics, { name, help, labels: {}, read });
  }
}

// Finds the holder of a connection's client certificate. Every request is checked again: chain, end, serial number, the record of
// its issue, and the present state of its access key. So kept connections and resumed TLS sessions get the same checks.
export interface HolderParts {
  book: IssueBook;
  world: KeyWorld;
  callers: Pick<IssueCallers, 'forCertificate'>;
  clock: Clock;
}

interface Holder {
  user: User;
  credential: Credential;
}

/** Undefined without a certificate. Throws a 401 for one that does not count here: of another authority, ended, of another instance. */
export function certificateHolder(
  { socket }: IncomingMessage,
  instance: string,
  { book, world, callers, clock }: HolderParts,
): Holder | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  // Null when the client has hung up, which the types of Node do not know.
  const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null;
  if (shown?.serialNumber === undefined) return undefined;
  const { serialNumber, valid_to: validTo = '' } = shown;
  const nowMs = clock.wallTime().getTime();
  if (!socket.authorized) throw refused('it is of another authority, or out of its time');
  if (nowMs >= Date.parse(validTo)) throw refused('it has expired');
  const record = book.bySerial(plainSerial(serialNumber));
  if (record === undefined || record.by !== 'listener' || record.state !== 'live')
    throw refused('it was not issued here, or has ended');
  if (record.instance !== instance) throw refused('it is for another virtual cluster');
  const over = endOf(record, world, nowMs);
  const facts = world.key(record.key.name);
  if (over !== undefined || facts === undefined) throw refused(over ?? 'its access key is gone');
  const address = socket.remoteAddress;
  const found = credentialOf(facts, world, { nowMs, address });
  if (found.kind === 'dead') throw refused(`the access key that asked for it does not count: ${found.because}`);
  const { credential } = found;
  const endMs = record.notAfterMs ?? Date.parse(validTo);
  return { user: callers.forCertificate({ credential, facts, endMs, address }), credential };
}

function refused(why: string): StatusFault {
  return new StatusFault(unauthorized(`the client certificate is not taken: ${why}`));
}
