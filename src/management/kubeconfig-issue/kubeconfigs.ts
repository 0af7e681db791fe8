// Issues kubeconfigs and ends their credentials, as one part of the management API. In: the open parts. Out: the action of the
// subresource. While it runs, it ends each certificate in time.
import type { SubresourceAction } from '../../apiserver/kinds/kind.ts';
import type { Strangers } from '../../apiserver/request/strangers.ts';
import { authorityIn } from '../../apiserver/tls/authority-folder.ts';
import type { Authority } from '../../apiserver/tls/certificates.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import type { Store } from '../../store/store.ts';
import type { IssueParts } from './asker.ts';
import { certificateForm } from './certificate-form.ts';
import { certificateHolder } from './certificate-holder.ts';
import { ClientAuthority } from './client-authority.ts';
import { type EntranceServer, IngressListener } from './ingress-listener.ts';
import { IssueBook } from './issue-book.ts';
import { issueParts, type OpenIssueParts } from './issue-parts.ts';
import { kubeconfigAction } from './kubeconfig-action.ts';
import { Revoker, type WaitingRemoval } from './revoker.ts';
import type { ReachOptions } from './virtual-cluster.ts';

export type KubeconfigsOptions = OpenIssueParts & Omit<ReachOptions, 'clock'> & { store: Store; strangers: Strangers };

export class Kubeconfigs {
  readonly act: SubresourceAction;
  readonly #book: IssueBook;
  readonly #revoker: Revoker;
  readonly #options: KubeconfigsOptions;
  readonly #parts: IssueParts;
  readonly #authority: ClientAuthority;
  #ingress: IngressListener | undefined;

  constructor(options: KubeconfigsOptions) {
    const { store, world, settings, environment, clock, log } = options;
    const reach = { environment, clock, log };
    this.#options = options;
    this.#authority = new ClientAuthority(options.server.dataDir, clock);
    this.#book = new IssueBook(store);
    this.#revoker = new Revoker({ book: this.#book, world, reach, settings });
    const own = { book: this.#book, revoker: this.#revoker, authority: this.#authority, world, reach };
    const ingressAuthority = async () => (await this.#serving()).certPem;
    this.#parts = issueParts(options, ingressAuthority);
    this.act = kubeconfigAction(this.#parts, certificateForm(own));
  }

  async open(): Promise<void> {
    await this.#book.start();
  }

  /** Certificates of keys that died while nothing ran lose their rights now. */
  async start(api: EntranceServer): Promise<void> {
    this.#revoker.start();
    const { server, world, callers, strangers, clock, log } = this.#options;
    if (server.ingressListen === undefined) return;
    const holding = { book: this.#book, world, callers, clock };
    const ingress = new IngressListener({
      listen: server.ingressListen,
      instances: this.#parts,
      server: api,
      holder: (request, instance) => certificateHolder(request, instance, holding),
      serving: await this.#serving(),
      clientCaPem: (await this.#authority.get()).certPem,
      strangers,
      clock,
      log,
    });
    await ingress.start();
    this.#ingress = ingress;
    log.info({ component: 'management', port: ingress.port }, 'ingress of virtual clusters started');
  }

  async stop(): Promise<void> {
    await this.#ingress?.stop();
    await this.#revoker.stop();
  }

  /** The CA of the management server, also where that has a certificate from files. */
  #serving(): Promise<Authority> {
    const { server, clock } = this.#options;
    return authorityIn(server.dataDir, 'hostward-management', clock.wallTime());
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
