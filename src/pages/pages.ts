// The pages that a daemon shows to people: `/` and `/objects`. In: functions that answer what the daemon knows, and requests.
// Out: HTML. Pages change nothing. This room must never decide what is well: facts and words come from sync/report.
import { type LocalReply, type LocalRequest, type LocalRoutes, plainReply } from '../apiserver/local/routes.ts';
import { Assets, assetsPath } from './frame/assets.ts';
import { pageReply } from './frame/frame.ts';
import { type StatusAnswers, statusMain } from './status/status-page.ts';

const readOnly = { methods: ['GET', 'HEAD'], bodyBytes: 0 };

export class Pages implements LocalRoutes {
  readonly #answers: StatusAnswers;
  readonly #assets: Assets;

  constructor(answers: StatusAnswers, assets = new Assets()) {
    this.#answers = answers;
    this.#assets = assets;
  }

  takes(path: string): { methods: readonly string[]; bodyBytes: number } | undefined {
    return path === '/' || path.startsWith(assetsPath) ? readOnly : undefined;
  }

  async answer({ path, isLoopback }: LocalRequest): Promise<LocalReply> {
    if (path.startsWith(assetsPath)) return this.#assets.answer(path);
    if (!isLoopback) return plainReply(403, forwardSentence(this.#answers.port()));
    return pageReply({
      title: 'Hostward status',
      scripts: [await this.#assets.path('status.js')],
      styles: [await this.#assets.path('pages.css')],
      links: [{ path: '/', words: 'Status' }],
      current: '/',
      main: statusMain(this.#answers),
    });
  }
}

function forwardSentence(port: number): string {
  return `pages answer programs on this machine alone, because they name objects; from elsewhere use:\nkubectl port-forward POD ${port}:${port}\nand open http://localhost:${port}/`;
}
