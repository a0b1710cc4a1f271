// What a browser's device is called until its person says otherwise.

// An Android phone's browser also says "Linux", and an iPad's "Macintosh" now and then: the first that fits is meant.
const NAMES: [RegExp, string][] = [
  [/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android.*Mobile/, "Android phone"], [/Android/, "Android tablet"], [/CrOS/, "Chromebook"],
  [/Macintosh/, "Mac"], [/Windows/, "Windows"], [/Linux/, "Linux"],
];

export const deviceName = (agent: string): string => NAMES.find(([pattern]) => pattern.test(agent))?.[1] ?? "browser";
