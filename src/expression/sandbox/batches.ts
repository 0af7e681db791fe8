// Decides which requests run in one call of the isolate: short requests that arrived together. After a failed batch each
// request runs by itself for a while, because slow expressions tend to be slow again. Never reads the text of a request.
import type { Frame } from './frames.ts';

/** Half of the requests in flight: the daemon reads the answers to one half while the process works on the other. */
export const maxBatchRequests = 8;
/** Characters of one batch: next to the run of a long request the cost of the call does not matter. */
const maxBatchChars = 8_192;
/** Where expressions take fifteen milliseconds, one failed batch for every hundred requests costs a tenth more time. */
const soloAfterFailure = 100;

export class Batches {
  #soloLeft = 0;

  /** Set-ups and long requests by themselves and short requests in lists, in the order of the frames. */
  *split(frames: readonly Frame[]): Generator<readonly Frame[]> {
    let list: Frame[] = [];
    let chars = 0;
    for (const frame of frames) {
      chars += frame.text.length;
      if (list.length > 0 && !(this.#mayJoin(list, frame) && chars <= maxBatchChars)) {
        yield this.#counted(list);
        list = [];
        chars = frame.text.length;
      }
      list.push(frame);
    }
    if (list.length > 0) yield this.#counted(list);
  }

  batchFailed(): void {
    this.#soloLeft = soloAfterFailure;
  }

  #mayJoin(list: readonly Frame[], frame: Frame): boolean {
    return this.#soloLeft === 0 && frame.kind === 'run' && list[0]?.kind === 'run' && list.length < maxBatchRequests;
  }

  #counted(list: readonly Frame[]): readonly Frame[] {
    if (this.#soloLeft > 0) this.#soloLeft--;
    return list;
  }
}
