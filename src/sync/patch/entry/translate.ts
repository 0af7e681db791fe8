// Runs patches without an expression: a labels patch spells label keys as the host does, a reference patch writes the host
// names of other objects. In: a patch, its matches, the pass. Out: what was written into the view, or which match is wrong and
// why.
import type { Matches } from '../../../expression/path/path.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import { equalJson } from '../../../object/text/json.ts';
import type { ReferenceResolver } from '../../references/reference-names.ts';
import type { CompiledPatch, CompiledReference } from '../set/patch-set.ts';
import { translateLabels } from './labels-patch.ts';
import type { Pass } from './pass.ts';
import { type FoundReference, referencesForward, type Wrong } from './reference-patch.ts';

export type Translated =
  | Wrong
  | {
      kind: 'written';
      changes: number;
      /** Undefined when the patch wrote names inside its matches instead of replacing the matches. */
      results: readonly unknown[] | undefined;
      found: readonly FoundReference[];
    };

interface Means {
  pass: Pass;
  resolver: ReferenceResolver;
}

export function translate(patch: CompiledPatch, matches: Matches, means: Means): Translated {
  const { reference } = patch;
  return reference === undefined
    ? writeLabels(matches, means.pass)
    : writeReferences(matches, { ...means, reference, isOfPayload: patch.parts.includes('payload') });
}

function writeLabels(matches: Matches, { virtual, translation }: Pass): Translated {
  const { labels: rules, placement } = translation;
  const options = { rules, virtualCluster: placement.virtualCluster, virtualNamespace: virtual.namespace };
  const results: unknown[] = [];
  for (const [at, value] of matches.values.entries()) {
    const translated = translateLabels(value, options);
    if (translated.kind === 'wrong') return { kind: 'wrong', at, message: translated.message };
    results.push(translated.value);
  }
  const changes = changesOf(matches, results);
  writeResults(matches, results);
  return { kind: 'written', changes, results, found: [] };
}

/** A translation makes a new value each time, so values are compared by content. */
function changesOf({ values: before }: Matches, after: readonly unknown[]): number {
  return before.filter((value, at) => !equalJson(value, after[at])).length;
}

function writeReferences(
  matches: Matches,
  { pass, resolver, reference, isOfPayload }: Means & { reference: CompiledReference; isOfPayload: boolean },
): Translated {
  const { kind, placement } = pass.translation;
  const written = referencesForward(reference, matches, {
    namespace: pass.virtual.namespace,
    placement,
    resolver,
    ...(isOfPayload && { renamed: kind.renamedBy(pass.virtual, placement) }),
  });
  return written.kind === 'wrong' ? written : { ...written, kind: 'written', results: undefined };
}

/** The values at the matches after names were written there or inside them. */
export function textsNow(matches: Matches): unknown[] {
  return matches.values.map((value, at) =>
    typeof value === 'string' ? (matches.parents[at] as Record<string, unknown>)[matches.keys[at] as string] : value,
  );
}
