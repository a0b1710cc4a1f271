// Speech to text, where the browser brings it. The sound goes where the browser sends it, not through yourcall.

interface RecognitionEvent {
  results: ArrayLike<ArrayLike<{ transcript: string }> & { isFinal: boolean }>;
  resultIndex: number;
}

interface Recogniser {
  continuous: boolean;
  interimResults: boolean;
  lang: string;
  onresult: ((event: RecognitionEvent) => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
}

const known = window as unknown as Record<string, (new () => Recogniser) | undefined>;
const Made = known["SpeechRecognition"] ?? known["webkitSpeechRecognition"];

export const canDictate = Made !== undefined;

/** Listen until stopped; `onphrase` gets each finished phrase. Returns how to stop. */
export function dictate(onphrase: (words: string) => void, ended: (problem: string) => void): () => void {
  if (!Made) return () => undefined;
  const recogniser = new Made();
  let problem = "";
  recogniser.continuous = true;
  recogniser.interimResults = false;
  recogniser.lang = navigator.language;
  recogniser.onresult = (event) => {
    for (let n = event.resultIndex; n < event.results.length; n++) {
      const one = event.results[n]!;
      if (one.isFinal) onphrase(one[0]!.transcript.trim());
    }
  };
  recogniser.onerror = ({ error }) => {
    problem = error === "not-allowed" ? "This page may not use the microphone." : error === "no-speech" ? "" : "Dictation did not work here.";
  };
  recogniser.onend = () => ended(problem);
  recogniser.start();
  return () => recogniser.stop();
}
