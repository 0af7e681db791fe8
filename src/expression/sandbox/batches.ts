// Which requests are run in one call of the isolate: short ones that came together. When such a call comes to nothing, the next
// requests are run each by itself, since what was slow in one is likely to be slow in others. Knows nothing of what they say.
import type { Frame } from './frames.ts';

/** Half of the requests in flight, so that the daemon has the answers to one half meanwhile. */
export const mostRequests = 8;
/** Of all of them: a long request takes long enough for the call not to matter. */
const mostChars = 8_192;
/** Where expressions take fifteen milliseconds, a call in vain for every hundred requests costs a tenth more. */
const aloneAfterwards = 100;

export class Batches {
  #alone = 0;

  /** Set-ups, long requests and lists of short ones, in their order. */
  *of(frames: readonly Frame[]): Generator<readonly Frame[]> {
    let list: Frame[] = [];
    let chars = 0;
    for (const frame of frames) {
      chars += frame.text.length;
      if (list.length > 0 && !(this.#mayJoin(list, frame) && chars <= mostChars)) {
        yield this.#counted(list);
        list = [];
        chars = frame.text.length;
      }
      list.push(frame);
    }
    if (list.length > 0) yield this.#counted(list);
  }

  cameToNothing(): void {
    this.#alone = aloneAfterwards;
  }

  #mayJoin(list: readonly Frame[], frame: Frame): boolean {
    return this.#alone === 0 && frame.kind === 'run' && list[0]?.kind === 'run' && list.length < mostRequests;
  }

  #counted(list: readonly Frame[]): readonly Frame[] {
    if (this.#alone > 0) this.#alone--;
    return list;
  }
}
