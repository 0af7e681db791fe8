// The texts in the editors, and whose they are: those of the address, or a person's own. An address that names a case or an example shows
// just that. Own texts have the address without a name, so that a link in the address bar never holds anything else than what is seen,
// and they are kept in the tab when a link or an example takes their place.
import { useCallback, useRef, useState } from 'preact/hooks';
import { type PlaygroundCase, type TextName, textNames } from '../../playground-api.ts';
import { readLink } from '../../playground-link.ts';
import { keepTexts, keptTexts, show, shownNow, showOwn } from './address.ts';
import { sentence } from './rendering.ts';

export interface Example {
  name: string;
  about: string;
  /** As the folder in fixtures/patches/ holds them. */
  files: Readonly<Record<string, string>>;
}

interface Written {
  texts: PlaygroundCase;
  /** Changes when the texts come from elsewhere than the editors. */
  generation: number;
  /** Whether a person wrote them. */
  isOwn: boolean;
}

const emptyCase: PlaygroundCase = { config: '', virtual: '', hostBefore: '', hostEdited: '' };

export function useTexts(examples: readonly Example[]) {
  const [written, setWritten] = useState<Written>({ texts: emptyCase, generation: 0, isOwn: false });
  const [aside, setAside] = useState<PlaygroundCase | undefined>(undefined);
  const [example, setExample] = useState('');
  const [fault, setFault] = useState('');
  const latest = useRef(written);
  /** Kept at once and not after the next drawing: the page may be left before that. */
  const set = useCallback((next: Written) => {
    latest.current = next;
    setWritten(next);
    if (next.isOwn) keepTexts('own', next.texts);
  }, []);
  const put = useCallback(
    (texts: PlaygroundCase, isOwn: boolean) => set({ texts, generation: latest.current.generation + 1, isOwn }),
    [],
  );
  const load = useCallback(async () => {
    const shown = shownNow();
    const own = keptTexts('own');
    setFault('');
    setExample(shown.kind === 'example' ? shown.name : '');
    if (shown.kind === 'nothing' && own !== undefined) {
      const kept = keptTexts('aside');
      setAside(kept !== undefined && areSame(own, kept) ? undefined : kept);
      return put(own, true);
    }
    const name = shown.kind === 'example' ? shown.name : (examples[0]?.name ?? '');
    if (shown.kind === 'nothing') setExample(name);
    const read = shown.kind === 'case' ? await readLink(shown.link) : exampleCase(examples, name);
    if (read.kind === 'fault') {
      setFault(sentence(read.sentence));
      if (own !== undefined) put(own, true);
      return;
    }
    // The first key that is typed would overwrite the own texts, so they are kept aside.
    if (own !== undefined && !areSame(own, read.case)) keepTexts('aside', own);
    setAside(own !== undefined && areSame(own, read.case) ? undefined : keptTexts('aside'));
    put(read.case, false);
  }, [examples]);

  const write = (name: TextName, text: string) => {
    showOwn();
    setFault('');
    const was = latest.current;
    set({ ...was, texts: { ...was.texts, [name]: text }, isOwn: true });
  };
  /** What the page itself writes is nobody's work, and may be lost. */
  const replace = (name: TextName, text: string) =>
    put({ ...latest.current.texts, [name]: text }, latest.current.isOwn);
  const bringBack = () => {
    if (aside === undefined) return;
    showOwn();
    const swapped = latest.current.isOwn ? latest.current.texts : undefined;
    keepTexts('aside', swapped);
    setAside(swapped);
    setFault('');
    put(aside, true);
  };
  /** The address holds the texts now, unless somebody typed on while their link was made. */
  const shared = (texts: PlaygroundCase, link: string) => {
    if (latest.current.texts !== texts) return;
    show({ kind: 'case', link });
    set({ ...latest.current, isOwn: false });
  };
  return { ...written, aside, example, fault, load, write, replace, bringBack, shared };
}

function exampleCase(
  examples: readonly Example[],
  name: string,
): { kind: 'case'; case: PlaygroundCase } | { kind: 'fault'; sentence: string } {
  const found = examples.find((one) => one.name === name);
  if (found === undefined) return { kind: 'fault', sentence: 'there is no such example; choose one from the list' };
  const text = (file: string) => found.files[file] ?? '';
  return {
    kind: 'case',
    case: {
      config: text('config.yaml'),
      virtual: text('virtual.yaml'),
      hostBefore: text('host-before.yaml'),
      hostEdited: text('back/host.yaml'),
    },
  };
}

function areSame(one: PlaygroundCase, other: PlaygroundCase): boolean {
  return textNames.every((name) => (one[name] ?? '') === (other[name] ?? ''));
}
