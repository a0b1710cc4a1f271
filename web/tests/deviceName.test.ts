import { expect, test } from "vitest";
import { deviceName } from "../src/lib/deviceName";

test("an Android phone is not called Linux", () => {
  expect(deviceName("Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140 Mobile Safari/537.36")).toBe("Android phone");
  expect(deviceName("Mozilla/5.0 (Linux; Android 15; SM-X910) AppleWebKit/537.36 Chrome/140 Safari/537.36")).toBe("Android tablet");
  expect(deviceName("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140 Safari/537.36")).toBe("Linux");
  expect(deviceName("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X)")).toBe("iPhone");
  expect(deviceName("curl")).toBe("browser");
});
