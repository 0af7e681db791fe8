// Everything that issues kubeconfigs and ends what was issued, as one part of the management API. In: the open parts. Out: the action of
// the subresource, and certificates that end when they must for as long as it runs.
import type { SubresourceAction } from '../../apiserver/kinds/kind.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import type { Store } from '../../store/store.ts';
import { certificateForm } from './certificate-form.ts';
import { IssueBook } from './issue-book.ts';
import { issueParts, type OpenIssueParts } from './issue-parts.ts';
import { kubeconfigAction } from './kubeconfig-action.ts';
import { Revoker, type WaitingRemoval } from './revoker.ts';
import type { ReachOptions } from './virtual-cluster.ts';

export type KubeconfigsOptions = OpenIssueParts & Omit<ReachOptions, 'clock'> & { store: Store };

export class Kubeconfigs {
  readonly act: SubresourceAction;
  readonly #book: IssueBook;
  readonly #revoker: Revoker;

  constructor(options: KubeconfigsOptions) {
    const { store, world, settings, environment, clock, log } = options;
    const reach = { environment, clock, log };
    this.#book = new IssueBook(store);
    this.#revoker = new Revoker({ book: this.#book, world, reach, settings });
    const own = { book: this.#book, revoker: this.#revoker, world, reach };
    this.act = kubeconfigAction(issueParts(options), certificateForm(own));
  }

  async open(): Promise<void> {
    await this.#book.start();
  }

  /** Certificates of keys that died while nothing ran lose their rights now. */
  start(): void {
    this.#revoker.start();
  }

  async stop(): Promise<void> {
    await this.#revoker.stop();
  }

  /** For `hostward status`. */
  status(): { live: number; removalsWaiting: readonly WaitingRemoval[] } {
    return { live: this.#revoker.live, removalsWaiting: this.#revoker.waiting() };
  }

  declareMetrics(metrics: Metrics): void {
    const series: [string, string, () => number][] = [
      ['hostward_client_certificates', 'Client certificates that count', () => this.#revoker.live],
      [
        'hostward_client_certificate_removals_waiting',
        'Client certificates whose rights are still to be taken away',
        () => this.#revoker.waiting().length,
      ],
    ];
    for (const [name, help, read] of series) readSeries(metrics, { name, help, labels: {}, read });
  }
}
