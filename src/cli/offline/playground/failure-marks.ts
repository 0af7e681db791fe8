// Finds the place of every patch that failed while it ran. In: what was rendered, and the configuration. Out: marks at the places in the
// text of the user. Pure.
import { patchListPath, slicePatchListPath } from '../../../daemon/options/load-patches.ts';
import type { Mark } from '../../../pages/playground-api.ts';
import type { LoadedAll } from '../../line/load-settings.ts';
import type { Notice, OfflineRender } from '../offline-render.ts';
import type { ConfigText } from './config-text.ts';

/** Every failure of an expression, also those that onError lets pass. */
export function failuresIn({ explained }: OfflineRender) {
  return explained.flatMap(({ explanation, set, list }) =>
    explanation
      .patches(set)
      .flatMap(({ object, patch, direction, matches }) =>
        matches.flatMap(({ at, error, failed }) =>
          error === undefined || failed === undefined ? [] : [{ object, list, patch, direction, at, error, ...failed }],
        ),
      ),
  );
}

export function ranOut(rendered: OfflineRender): boolean {
  return failuresIn(rendered).some(({ kind }) => ['timeout', 'memory', 'crash'].includes(kind));
}

export function failureMarks(
  rendered: OfflineRender,
  { positions }: Extract<LoadedAll, { kind: 'ok' }>,
  config: ConfigText,
): Mark[] {
  const isOne = rendered.objects.length + rendered.notices.filter(({ failed }) => failed !== undefined).length <= 1;
  const marks = failuresIn(rendered).map(({ object, list, patch, direction, at, error, kind, position }) => {
    const isForward = direction === 'forward';
    const field = isForward ? 'expression' : 'reverseExpression';
    const path = [...list.split('.'), patch, field];
    // Without a place of its own it is the whole expression, which begins behind the quote of a text.
    const { line, column } = position ?? { line: 1, column: 1 };
    const place = positions.positionInScalar(path, line, column);
    const said = kind === 'threw' ? `the expression throws: ${error}` : error;
    const where = `${at === '' ? 'the whole object' : at}${isOne ? '' : ` of ${object}`}`;
    return faultAt(place, config, `${isForward ? '' : 'on the way back, '}at ${where}: ${said}`);
  });
  // A result that no object may hold is reported for the object, not for one match.
  const others = rendered.notices.flatMap(({ message, failed }: Notice) => {
    const { patch } = failed?.failure ?? {};
    if (failed === undefined || failuresIn(rendered).some((one) => one.patch === patch)) return [];
    const list = failed.kind === 'EndpointSlice' ? slicePatchListPath : patchListPath;
    const place = patch === undefined ? undefined : positions.positionInScalar([...list, patch, 'expression'], 1, 1);
    return [faultAt(place, config, failed.failure.message || message)];
  });
  return unique([...marks, ...others]);
}

function faultAt(place: { line: number; column: number } | undefined, config: ConfigText, message: string): Mark {
  const { line, column } = config.placeOf(place?.line ?? 1, place?.column ?? 1);
  return { text: 'config', severity: 'fault', code: 'PATCH_FAILED', line, column, message };
}

/** One mark for each place and message: an object with a thousand addresses fails a thousand times alike. */
function unique(marks: readonly Mark[]): Mark[] {
  const byPlace = new Map<string, Mark>();
  for (const mark of marks) {
    const id = `${mark.line}:${mark.column}`;
    if (!byPlace.has(id)) byPlace.set(id, mark);
  }
  return [...byPlace.values()];
}
