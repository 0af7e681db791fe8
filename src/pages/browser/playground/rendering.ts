// Sends the texts to the server whenever they have changed, one question at a time, and asks again while nobody answers.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PlaygroundCase, RenderAnswer } from '../../playground-api.ts';
import { ask } from './ask.ts';

interface Rendering {
  token: string;
  onAnswer: (answer: RenderAnswer, asked: PlaygroundCase) => void;
  onFault: (sentence: string) => void;
  onNoToken: () => void;
}

/** Waits a moment for the next key, because people write words. */
const quietMs = 25;
/** Between two tries while nobody answers. */
const againMs = 2_000;

export function useRendering(
  texts: PlaygroundCase,
  { token, onAnswer, onFault, onNoToken }: Rendering,
): { isBusy: boolean } {
  const [isBusy, setBusy] = useState(false);
  const state = useRef({ isAsking: false, wanted: texts, token });
  state.current.wanted = texts;
  state.current.token = token;
  useEffect(() => {
    const timer = setTimeout(() => void askAll(), quietMs);
    return () => clearTimeout(timer);
  }, [texts, token]);
  const askAll = async () => {
    const now = state.current;
    if (now.isAsking || now.token === '' || now.wanted.virtual + now.wanted.config === '') return;
    now.isAsking = true;
    // A word that flickers at each key would only disturb.
    const slow = setTimeout(() => setBusy(true), 300);
    for (let asked: PlaygroundCase | undefined; asked !== now.wanted; ) {
      asked = now.wanted;
      const answered = await ask<RenderAnswer>('render', asked, now.token);
      if (answered.kind === 'answer') {
        onFault('');
        onAnswer(answered.answer, asked);
      } else if (answered.kind === 'noToken') onNoToken();
      else {
        onFault(sentence(answered.sentence));
        if (answered.isPassing) setTimeout(() => void askAll(), againMs);
      }
    }
    clearTimeout(slow);
    setBusy(false);
    now.isAsking = false;
  };
  return { isBusy };
}

/** As the page shows it. */
export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${words.endsWith('.') ? '' : '.'}`;
}
