// Decides which requests run in one call of the isolate: short requests that arrived together. Never reads the text of a request.
import type { Frame } from './frames.ts';

/** Two batches are in flight: the daemon reads the answers to one while the process works on the other. */
export const maxBatchRequests = 8;
/** Characters of one batch: next to the run of a long request the cost of the call does not matter. */
export const maxBatchChars = 8_192;

/** Set-ups and long requests by themselves and short requests in lists, in the order of the frames. */
export function* batchesOf(frames: readonly Frame[]): Generator<readonly Frame[]> {
  let list: Frame[] = [];
  let chars = 0;
  for (const frame of frames) {
    chars += frame.text.length;
    if (list.length > 0 && !(mayJoin(list, frame) && chars <= maxBatchChars)) {
      yield list;
      list = [];
      chars = frame.text.length;
    }
    list.push(frame);
  }
  if (list.length > 0) yield list;
}

function mayJoin(list: readonly Frame[], frame: Frame): boolean {
  const [first] = list;
  const isShort = first?.kind === 'run' || first?.kind === 'apart';
  return isShort && frame.kind === 'run' && list.length < maxBatchRequests;
}
