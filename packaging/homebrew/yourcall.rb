# A formula for a tap. `tools/release.py` fills in the version, the address and the hash of a release.
class Yourcall < Formula
  include Language::Python::Virtualenv

  desc "Answer your coding agents from the phone, the chat, the terminal or a script"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "node" => :build
  depends_on "python@3.13"
  depends_on "tmux" => :recommended

  def install
    virtualenv_create(libexec, "python3.13")
    system libexec/"bin/python", "-m", "pip", "install", "--require-hashes", "-r", "packaging/requirements.txt"
    system libexec/"bin/python", "-m", "pip", "install", "--no-deps", buildpath
    bin.install_symlink libexec/"bin/yourcall"
    man1.install "packaging/share/man/man1/yourcall.1"
    bash_completion.install "packaging/share/bash-completion/completions/yourcall"
    zsh_completion.install "packaging/share/zsh/site-functions/_yourcall"
    fish_completion.install "packaging/share/fish/vendor_completions.d/yourcall.fish"
  end

  service do
    run [opt_bin/"yourcall", "up"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/yourcall --version")
  end
end
